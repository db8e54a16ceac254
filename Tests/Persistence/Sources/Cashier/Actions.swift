import DispatchStore

// A client's order is placed, charged, paid, and later the client is reminded of it. The books count each step, so that
// one that was done twice is seen.

struct Place: CodableAction, Equatable {
  typealias Reply = Receipt
  let order: Int
}

struct Receipt: Codable, Sendable {
  /// The number of the order in the books.
  let number: Int
}

struct Paid: CodableAction { let order: Int }

struct Remind: CodableAction {
  let order: Int
  /// In milliseconds since 1970.
  let due: Int64
}

struct Tick: CodableAction {}

struct Orders: ModelType, Codable {
  struct Order: Codable, Sendable {
    /// The reply of the first `Place`.
    var number: Int
    var placed = 0
    var paid = 0
  }

  var all = TrackedDictionary<Int, Order>()
  var lastNumber = 0
}

struct Ledger: ModelType, Codable {
  struct Entry: Codable, Sendable {
    var payments = 0
    var reminders = 0
  }

  var entries = TrackedDictionary<Int, Entry>()
  var ticks = 0
  /// The reminders that came before their time.
  var early = 0
}
