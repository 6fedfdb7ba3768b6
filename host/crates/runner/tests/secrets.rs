//! Secrets, from the value to the row and back.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use cofferdam_core::hint::Hint as _;
use cofferdam_core::ids::TenantId;
use cofferdam_core::key::{InstallationKey, KEY_BYTES, Purpose};
use cofferdam_core::secret::{MAX_SECRET, MAX_SECRETS, SecretError, SecretName};
use cofferdam_runner::{ErrorKind, OpenedSecrets, Secrets, SecretsError};
use cofferdam_store::Store;
use cofferdam_testkit::TestDb;

const TENANT: TenantId = TenantId::DEFAULT;

fn name(text: &str) -> SecretName {
    SecretName::new(text).unwrap()
}

fn with_key(store: &Store, byte: u8) -> Secrets {
    let key = InstallationKey::from_bytes([byte; KEY_BYTES]).derive(Purpose::Secrets);
    Secrets::new(store.clone(), Some(key))
}

async fn set(secrets: &Secrets, text: &str, value: &str) -> bool {
    secrets.set(TENANT, &name(text), value.as_bytes().to_vec()).await.unwrap()
}

/// What an attempt would be given under a name.
fn value(opened: &OpenedSecrets, text: &str) -> Option<String> {
    let opened = opened.get(&name(text))?.as_ref().unwrap();
    Some(opened.expose().to_owned())
}

#[tokio::test]
async fn an_attempt_is_given_what_it_was_granted_and_nothing_else() {
    // Given three secrets, of which one was set twice,
    let db = TestDb::new().await;
    let store = db.store().await;
    let secrets = with_key(&store, 1);
    assert!(set(&secrets, "API_KEY", "first").await);
    assert!(!set(&secrets, "API_KEY", "second").await);
    assert!(set(&secrets, "PASSWORD", "hunter2").await);
    assert!(set(&secrets, "OTHER", "not granted").await);

    // when an attempt comes that was granted two of them and one that nobody set,
    let granted = ["API_KEY", "PASSWORD", "MISSING"].map(name);
    let opened = secrets.for_attempt(TENANT, &granted).await.unwrap();

    // then it has the two, as they were set last.
    assert_eq!(opened.len(), 2);
    assert_eq!(value(&opened, "API_KEY").as_deref(), Some("second"));
    assert_eq!(value(&opened, "PASSWORD").as_deref(), Some("hunter2"));
    assert!(secrets.for_attempt(TENANT, &[]).await.unwrap().is_empty());

    // When one is deleted, then it is gone, and can be deleted no more.
    secrets.delete(TENANT, &name("PASSWORD")).await.unwrap();
    let gone = secrets.delete(TENANT, &name("PASSWORD")).await.unwrap_err();
    assert_eq!((gone.kind(), gone.code()), (ErrorKind::NotFound, "no-such-secret"));
    assert_eq!(secrets.list(TENANT).await.unwrap().len(), 2);
    assert_eq!(secrets.for_attempt(TENANT, &granted).await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_database_never_has_a_value() {
    // Given a secret
    let db = TestDb::new().await;
    let secrets = with_key(&db.store().await, 1);
    set(&secrets, "API_KEY", "correcthorsebattery").await;

    // then its name is in the database, and its value is not, be it as text or as bytes.
    assert_eq!(db.tables_with("API_KEY").await, ["secrets"]);
    assert_eq!(db.tables_with("correcthorsebattery").await, [""; 0]);
    // The same value is sealed anew each time, so that nobody sees that it is the same.
    let store = db.store().await;
    let sealed = async || store.sealed_secrets(TENANT, &[name("API_KEY")]).await.unwrap();
    let first = sealed().await;
    set(&secrets, "API_KEY", "correcthorsebattery").await;
    assert_ne!(sealed().await, first);
}

#[tokio::test]
async fn a_secret_of_another_key_or_another_place_does_not_open_and_spares_the_rest() {
    // Given a secret that was sealed with another key, one that was moved from another name, and a
    // good one,
    let db = TestDb::new().await;
    let store = db.store().await;
    let secrets = with_key(&store, 1);
    set(&with_key(&store, 2), "LOST", "of another key").await;
    set(&secrets, "GOOD", "good").await;
    let good = store.sealed_secrets(TENANT, &[name("GOOD")]).await.unwrap();
    for (_, sealed) in &good {
        store.put_secret(TENANT, &name("MOVED"), sealed).await.unwrap();
    }

    // when an attempt was granted all of them,
    let opened = secrets.for_attempt(TENANT, &["LOST", "MOVED", "GOOD"].map(name)).await.unwrap();

    // then the one that is good is there, and of the others why not.
    assert_eq!(value(&opened, "GOOD").as_deref(), Some("good"));
    for lost in ["LOST", "MOVED"] {
        assert_eq!(opened.get(&name(lost)), Some(&Err(SecretError::Sealed)), "{lost}");
    }
    assert!(SecretError::Sealed.hint().unwrap().contains("set the secret again"));
}

#[tokio::test]
async fn without_a_key_secrets_can_be_seen_and_deleted_but_not_used() {
    // Given a secret, and a process without a key,
    let db = TestDb::new().await;
    let store = db.store().await;
    set(&with_key(&store, 1), "API_KEY", "value").await;
    let keyless = Secrets::new(store, None);

    // when it is to set or to open one, then it says what it lacks,
    let set = keyless.set(TENANT, &name("OTHER"), b"value".to_vec()).await.unwrap_err();
    let opened = keyless.for_attempt(TENANT, &[name("API_KEY")]).await.unwrap_err();
    for error in [set, opened] {
        assert!(matches!(error, SecretsError::NoKey), "{error:?}");
        assert_eq!((error.kind(), error.code()), (ErrorKind::Conflict, "no-key"));
        let hint = error.hint().unwrap();
        assert!(hint.contains("COFFERDAM_KEY or COFFERDAM_KEY_FILE"), "{hint}");
    }
    // and the rest needs none.
    assert!(keyless.for_attempt(TENANT, &[]).await.unwrap().is_empty());
    assert_eq!(keyless.list(TENANT).await.unwrap().len(), 1);
    keyless.delete(TENANT, &name("API_KEY")).await.unwrap();
}

#[tokio::test]
async fn values_and_their_number_have_bounds() {
    let db = TestDb::new().await;
    let secrets = with_key(&db.store().await, 1);
    let set = async |text: &str, value: Vec<u8>| secrets.set(TENANT, &name(text), value).await;
    for (value, kind, code) in [
        (Vec::new(), ErrorKind::Invalid, "empty-secret"),
        (vec![0xff], ErrorKind::Invalid, "secret-not-text"),
        (vec![b'x'; MAX_SECRET + 1], ErrorKind::TooLarge, "secret-too-large"),
    ] {
        let refused = set("API_KEY", value).await.unwrap_err();
        assert_eq!((refused.kind(), refused.code()), (kind, code));
        assert!(refused.hint().is_some(), "{refused}");
    }
    assert!(set("LARGE", vec![b'x'; MAX_SECRET]).await.unwrap());
    for number in 1..MAX_SECRETS {
        assert!(set(&format!("S{number}"), b"x".to_vec()).await.unwrap());
    }
    let refused = set("ONE_MORE", b"x".to_vec()).await.unwrap_err();
    assert_eq!((refused.kind(), refused.code()), (ErrorKind::Conflict, "too-many-secrets"));
    assert!(!set("S1", b"y".to_vec()).await.unwrap());
}
