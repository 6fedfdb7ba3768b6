//! Orders that nobody placed: the same ones for the same seed, on every machine.

use std::fmt::Write as _;

const REGIONS: [&str; 5] = ["north", "south", "east", "west", "overseas"];
/// Names as real files have them, with commas and quotes.
const PRODUCTS: [&str; 4] =
    ["Desk lamp", "Chair, oak", "Shelf \"Ladder\"", "Table, \"Round\", 120 cm"];

/// One order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// `2026-01-01` to `2026-12-28`.
    pub date: String,
    /// One of five.
    pub region: &'static str,
    /// One of four.
    pub product: &'static str,
    /// 0.01 to 5,000.00, in hundredths.
    pub cents: u64,
}

/// The first `rows` orders of a seed.
pub fn orders(seed: u64, rows: usize) -> impl Iterator<Item = Order> {
    let mut random = Random(seed);
    (0..rows).map(move |_| Order {
        date: format!("2026-{:02}-{:02}", 1 + random.below(12), 1 + random.below(28)),
        region: random.pick(&REGIONS),
        product: random.pick(&PRODUCTS),
        cents: 1 + random.below(500_000),
    })
}

/// The first `rows` orders of a seed as a CSV file with the columns `date`, `region`, `product`
/// and `amount`.
pub fn generate(seed: u64, rows: usize) -> String {
    let mut text = String::from("date,region,product,amount\n");
    for order in orders(seed, rows) {
        let Order { date, region, product, cents } = order;
        let product = product.replace('"', "\"\"");
        // Writing to a string does not fail.
        let _ = writeln!(text, "{date},{region},\"{product}\",{}.{:02}", cents / 100, cents % 100);
    }
    text
}

/// The generator `SplitMix64`: small, and more than good enough for orders.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// 0 to `bound - 1`; the bias is far below what an order could show.
    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn pick(&mut self, words: &[&'static str]) -> &'static str {
        let index = self.below(words.len() as u64);
        usize::try_from(index).ok().and_then(|index| words.get(index)).copied().unwrap_or_default()
    }
}
