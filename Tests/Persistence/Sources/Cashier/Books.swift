import Foundation

/// What the database says between two runs, read as another program reads it.
struct Books {
  /// The values of the rows, by store, part and key.
  private var rows: [String: [Int: [String: Data]]] = [:]

  struct Schedule: Decodable {
    /// In nanoseconds since 1970.
    let due: Int64
  }

  struct Totals: Decodable {
    let ticks: Int
    let early: Int
  }

  /// - Parameter condition: Chooses rows of `dispatchstore_rows` and `dispatchstore_stores`.
  init(_ place: ServiceDatabase, where condition: String = "TRUE") throws {
    let query = """
      SELECT identifier, part, key, value FROM dispatchstore_rows JOIN dispatchstore_stores ON number = store
      WHERE \(condition)
      """
    for (store, part, key, value) in try place.rows(query) {
      rows[store, default: [:]][part, default: [:]][key] = value
    }
  }

  /// Only the rows that say how often the tick ran, and when it is due.
  static func ticks(_ place: ServiceDatabase) throws -> Books {
    try Books(place, where: "(identifier = 'ledger' AND part = 0) OR key = 'cashier/tick'")
  }

  func keys(ofWork part: Int) -> [String] {
    (rows["dispatchstore.work"]?[part] ?? [:]).keys.sorted()
  }

  func tick() throws -> Schedule? {
    try rows["dispatchstore.work"]?[3]?["cashier/tick"].map {
      try JSONDecoder().decode(Schedule.self, from: $0)
    }
  }

  func totals() throws -> Totals? {
    try rows["ledger"]?[0]?.values.first.map { try JSONDecoder().decode(Totals.self, from: $0) }
  }

  func orders() throws -> [Int: Orders.Order] { try elements("orders") }
  func entries() throws -> [Int: Ledger.Entry] { try elements("ledger") }

  private func elements<Value: Decodable>(_ store: String) throws -> [Int: Value] {
    var elements: [Int: Value] = [:]
    for (key, value) in rows[store]?[1] ?? [:] {
      elements[Int(key)!] = try JSONDecoder().decode(Value.self, from: value)
    }
    return elements
  }
}
