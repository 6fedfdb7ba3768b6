//! Secrets, as far as the database knows them.

use crate::support::{House, TENANT, execute};
use cofferdam_core::ids::TenantId;
use cofferdam_core::secret::{MAX_SECRET, MAX_SECRETS, SecretName};
use cofferdam_store::{SecretPut, Store};
use sqlx::Connection as _;
use tokio::task::JoinSet;
use uuid::Uuid;

/// What the nonce and the tag add to a value.
const OVERHEAD: usize = 28;

fn name(text: &str) -> SecretName {
    SecretName::new(text).unwrap()
}

/// Something as long as a sealed value of so many bytes.
fn sealed(bytes: usize, fill: u8) -> Vec<u8> {
    vec![fill; bytes + OVERHEAD]
}

async fn put(store: &Store, text: &str, fill: u8) -> SecretPut {
    store.put_secret(TENANT, &name(text), &sealed(8, fill)).await.unwrap()
}

/// Another tenant of the same installation.
async fn neighbour(house: &House) -> TenantId {
    let id = Uuid::from_u128(2);
    house.execute(&format!("INSERT INTO tenants (id, name) VALUES ('{id}', 'neighbour')")).await;
    TenantId::from_uuid(id)
}

#[tokio::test]
async fn a_secret_is_stored_listed_replaced_and_deleted() {
    let house = House::new().await;
    let store = &house.store;

    // Given a secret that was set twice, and another one,
    assert_eq!(put(store, "B", 1).await, SecretPut::Created);
    assert_eq!(put(store, "A", 2).await, SecretPut::Created);
    assert_eq!(put(store, "B", 3).await, SecretPut::Replaced);

    // then both are listed by name, with the time of the last change,
    let listed = store.secrets(TENANT).await.unwrap();
    let names: Vec<_> = listed.iter().map(|secret| secret.name.as_str()).collect();
    assert_eq!(names, ["A", "B"]);
    assert_eq!(listed[0].created_at, listed[0].updated_at);
    assert!(listed[1].created_at < listed[1].updated_at);

    // what is read is what was stored last,
    let read = store.sealed_secrets(TENANT, &[name("B"), name("NONE")]).await.unwrap();
    assert_eq!(read, [(name("B"), sealed(8, 3))]);
    assert_eq!(store.sealed_secrets(TENANT, &[]).await.unwrap(), []);

    // and it can be deleted once.
    assert!(store.delete_secret(TENANT, &name("B")).await.unwrap());
    assert!(!store.delete_secret(TENANT, &name("B")).await.unwrap());
    assert_eq!(store.secrets(TENANT).await.unwrap().len(), 1);
}

#[tokio::test]
async fn tenants_do_not_see_each_others_secrets() {
    // Given a secret of one tenant
    let house = House::new().await;
    let store = &house.store;
    let neighbour = neighbour(&house).await;
    put(store, "A", 1).await;

    // when another one asks for it, then there is none, to be read or to be deleted;
    assert_eq!(store.secrets(neighbour).await.unwrap(), []);
    assert_eq!(store.sealed_secrets(neighbour, &[name("A")]).await.unwrap(), []);
    assert!(!store.delete_secret(neighbour, &name("A")).await.unwrap());

    // and one of the same name is another one.
    let theirs = store.put_secret(neighbour, &name("A"), &sealed(8, 9)).await.unwrap();
    assert_eq!(theirs, SecretPut::Created);
    let ours = store.sealed_secrets(TENANT, &[name("A")]).await.unwrap();
    assert_eq!(ours, [(name("A"), sealed(8, 1))]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_has_no_more_than_it_may_however_many_add_at_once() {
    // Given a tenant with room for two,
    let house = House::new().await;
    let store = &house.store;
    for number in 2..MAX_SECRETS {
        assert_eq!(put(store, &format!("S{number}"), 1).await, SecretPut::Created);
    }

    // when many add one at the same time,
    let mut adding = JoinSet::new();
    for number in 0..8 {
        let store = store.clone();
        adding.spawn(async move { put(&store, &format!("T{number}"), 1).await });
    }
    let answers = adding.join_all().await;

    // then two of them do, and the others are told;
    let count = |wanted| answers.iter().filter(|answer| **answer == wanted).count();
    assert_eq!((count(SecretPut::Created), count(SecretPut::TooMany)), (2, 6));
    assert_eq!(store.secrets(TENANT).await.unwrap().len(), MAX_SECRETS);

    // what is there can be replaced, and another tenant has room of its own.
    assert_eq!(put(store, "S2", 2).await, SecretPut::Replaced);
    let neighbour = neighbour(&house).await;
    let theirs = store.put_secret(neighbour, &name("A"), &sealed(8, 1)).await.unwrap();
    assert_eq!(theirs, SecretPut::Created);

    // When one is deleted, there is room for one more.
    assert!(store.delete_secret(TENANT, &name("S2")).await.unwrap());
    assert_eq!(put(store, "LAST", 1).await, SecretPut::Created);
}

#[tokio::test]
async fn the_table_takes_what_can_have_been_sealed_and_nothing_else() {
    let house = House::new().await;
    let longest = format!("A{}", "_".repeat(63));
    for bytes in [1, MAX_SECRET] {
        let put = house.store.put_secret(TENANT, &name(&longest), &sealed(bytes, 1)).await;
        assert!(put.is_ok(), "{bytes}: {put:?}");
    }
    for bytes in [0, MAX_SECRET + 1] {
        let put = house.store.put_secret(TENANT, &name("A"), &sealed(bytes, 1)).await;
        assert!(put.is_err(), "{bytes}: {put:?}");
    }
    assert_eq!(house.store.secrets(TENANT).await.unwrap().len(), 1);
}

/// Setting a secret waits for nobody but others who do: publishing, which refers to the tenant,
/// goes on meanwhile.
#[tokio::test]
async fn modules_are_published_while_somebody_sets_a_secret() {
    let house = House::new().await;
    let mut other = house.db.connection().await;
    let mut open = other.begin().await.unwrap();
    let lock = include_str!("../../queries/secrets/lock.sql");
    execute(&mut open, &lock.replace("$1", &format!("'{}'", TENANT.as_uuid()))).await;

    let version = crate::support::version("sounds", "published meanwhile");
    assert!(house.store.publish(&version).await.unwrap().created);
    open.rollback().await.unwrap();
}
