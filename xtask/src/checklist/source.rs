//! What `docs/checklist.toml` holds.

use serde::Deserialize;
use std::fmt;

/// The rows go from S1 to S108.
pub(super) const ROWS: usize = 108;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Checklist {
    #[serde(rename = "group")]
    pub(super) groups: Vec<Group>,
}

/// Rows about one thing.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Group {
    pub(super) title: String,
    #[serde(rename = "row")]
    pub(super) rows: Vec<Row>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    /// `S1` and so on.
    pub(super) id: String,
    /// What the platform does, in a sentence or two.
    pub(super) means: String,
    pub(super) status: Status,
    /// The tests that show it. All of them must pass.
    #[serde(default)]
    pub(super) tests: Vec<TestName>,
    /// Why it comes later.
    pub(super) reason: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    Done,
    Later,
}

/// A test as a run names it: `package::target::module::name`. The target is `lib` or `bin` for
/// what lies in `src`, and otherwise a file or folder in `tests`.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String")]
pub(super) struct TestName {
    pub(super) package: String,
    pub(super) target: String,
    pub(super) modules: Vec<String>,
    pub(super) name: String,
}

impl TryFrom<String> for TestName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parts: Vec<_> = text.split("::").map(str::to_owned).collect();
        match &*parts {
            [package, target, modules @ .., name] => Ok(Self {
                package: package.clone(),
                target: target.clone(),
                modules: modules.to_vec(),
                name: name.clone(),
            }),
            _ => Err(format!("`{text}` is no package::target::module::name")),
        }
    }
}

impl fmt::Display for TestName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{}::", self.package, self.target)?;
        self.modules.iter().try_for_each(|module| write!(f, "{module}::"))?;
        f.write_str(&self.name)
    }
}

impl Checklist {
    /// Reads the text, or says all that is wrong with it.
    pub(super) fn read(text: &str) -> Result<Self, Vec<String>> {
        let checklist: Self = toml::from_str(text).map_err(|error| vec![error.to_string()])?;
        let problems = checklist.problems();
        if problems.is_empty() { Ok(checklist) } else { Err(problems) }
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.groups.iter().flat_map(|group| &group.rows)
    }

    /// The rows that are done by their own word only.
    pub(super) fn unshown(&self, passed: impl Fn(&str) -> bool) -> Vec<String> {
        let tests = self.rows().flat_map(|row| row.tests.iter().map(move |test| (row, test)));
        let missing = tests.filter(|(_, test)| !passed(&test.to_string()));
        missing.map(|(row, test)| format!("{}: {test} did not run and pass", row.id)).collect()
    }

    fn problems(&self) -> Vec<String> {
        let mut problems: Vec<_> = self.rows().filter_map(Row::problem).collect();
        for number in 1..=ROWS {
            let id = format!("S{number}");
            let count = self.rows().filter(|row| row.id == id).count();
            if count != 1 {
                problems.push(format!("{id} is there {count} times"));
            }
        }
        let known = |id: &str| id.strip_prefix('S').and_then(|number| number.parse().ok());
        for row in self.rows() {
            if !known(&row.id).is_some_and(|number: usize| (1..=ROWS).contains(&number)) {
                problems.push(format!("there is no row `{}`", row.id));
            }
        }
        problems
    }
}

impl Row {
    fn problem(&self) -> Option<String> {
        let id = &self.id;
        let reason = self.reason.as_deref().is_some_and(|reason| !reason.trim().is_empty());
        match self.status {
            _ if self.means.trim().is_empty() => Some(format!("{id} does not say what it means")),
            Status::Done if self.tests.is_empty() => Some(format!("{id} is done, but by no test")),
            Status::Done if self.reason.is_some() => Some(format!("{id} is done and later")),
            Status::Later if !self.tests.is_empty() => {
                Some(format!("{id} is later, but has tests"))
            }
            Status::Later if !reason => Some(format!("{id} does not say why it comes later")),
            Status::Done | Status::Later => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    /// A list with every row, all of which come later but for what is given for one of them.
    fn list(number: usize, row: &str) -> String {
        let mut text = "[[group]]\ntitle = \"All\"\n".to_owned();
        for id in 1..=ROWS {
            let later = "status = \"later\"\nreason = \"not yet\"";
            let rest = if id == number { row } else { later };
            let _ = writeln!(text, "[[group.row]]\nid = \"S{id}\"\nmeans = \"Well.\"\n{rest}");
        }
        text
    }

    fn problems(row: &str) -> Vec<String> {
        Checklist::read(&list(7, row)).map_or_else(|problems| problems, |_| Vec::new())
    }

    #[test]
    fn a_row_is_done_by_tests_or_comes_later_for_a_reason() {
        let done = "status = \"done\"\ntests = [\"a::lib::b\"]";
        assert_eq!(problems(done), [""; 0]);
        assert_eq!(problems("status = \"done\""), ["S7 is done, but by no test"]);
        assert_eq!(problems("status = \"later\""), ["S7 does not say why it comes later"]);
        let both = format!("{done}\nreason = \"no time\"");
        assert_eq!(problems(&both), ["S7 is done and later"]);
    }

    #[test]
    fn every_row_is_there_once() {
        let text = list(0, "").replace("\"S5\"", "\"S6\"").replace("\"S108\"", "\"S109\"");
        let problems = Checklist::read(&text).unwrap_err();
        let expected = ["S5 is there 0 times", "S6 is there 2 times", "S108 is there 0 times"];
        assert_eq!(problems[..3], expected);
        assert_eq!(problems[3..], ["there is no row `S109`"]);
    }

    #[test]
    fn a_test_that_did_not_pass_is_named_with_its_row() {
        let row = "status = \"done\"\ntests = [\"a::lib::b::works\", \"a::t::c::breaks\"]";
        let checklist = Checklist::read(&list(7, row)).unwrap();

        let unshown = checklist.unshown(|test| test == "a::lib::b::works");

        assert_eq!(unshown, ["S7: a::t::c::breaks did not run and pass"]);
    }

    #[test]
    fn names_of_tests_have_three_parts_at_least() {
        let row = |test| format!("status = \"done\"\ntests = [\"{test}\"]");
        assert_eq!(problems(&row("a::lib::b")), [""; 0]);
        assert!(problems(&row("a::b"))[0].contains("`a::b` is no package::target::module::name"));
    }
}
