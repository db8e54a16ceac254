import Foundation

/// The numbers in JSON, with all of their digits that a `Decimal` can have.
///
/// Rounding keeps an order, so two rows that differ only by rounding have different numbers when sorted.
struct ExactNumbers: Decodable {
  private var all: [Decimal] = []

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    func value<Value: Decodable>(_ type: Value.Type) -> Value? { try? container.decode(type) }
    if let number = value(Decimal.self) {
      all = [number]
    } else if let values = value([ExactNumbers].self) {
      all = values.flatMap(\.all)
    } else if let values = value([String: ExactNumbers].self) {
      all = values.values.flatMap(\.all)
    }
  }

  /// Returns the numbers in a row, sorted; none if it is no JSON, as with another coder.
  static func read(_ row: Data) -> [Decimal] {
    let numbers = try? JSONDecoder().decode(ExactNumbers.self, from: row)
    return numbers?.all.sorted() ?? []
  }
}
