public import Foundation

/// A tree of plain values: a model as dictionaries, arrays and scalars.
///
/// `PlainEncoder` makes a tree of any `Encodable` value, and `PlainDecoder` restores the value. Nothing is lost:
/// 64-bit integers, data, dates and non-finite numbers are preserved. The tree itself is `Codable`.
public enum PlainValue: Hashable, Sendable {
  /// Nothing.
  case null
  /// A truth value.
  case bool(Bool)
  /// An integer.
  case integer(Int64)
  /// An integer that is too large for `Int64`.
  case unsigned(UInt64)
  /// A number with a fraction.
  case double(Double)
  /// Text.
  case string(String)
  /// Bytes.
  case data(Data)
  /// A date.
  case date(Date)
  /// Values in order.
  case array([PlainValue])
  /// Values by name.
  case object([String: PlainValue])

  /// The value for a name; nil if this is no object, or does not have the name.
  ///
  /// Setting it changes an object, and does nothing to any other value.
  public subscript(name: String) -> PlainValue? {
    get { if case .object(let values) = self { values[name] } else { nil } }
    set {
      guard case .object(var values) = self else { return }
      values[name] = newValue
      self = .object(values)
    }
  }

  /// The value at an index; nil if this is no array, or the index is out of range.
  public subscript(index: Int) -> PlainValue? {
    guard case .array(let values) = self, values.indices.contains(index) else { return nil }
    return values[index]
  }

  /// The kind of value, for messages.
  var kind: String {
    switch self {
    case .null: "null"
    case .bool: "a truth value"
    case .integer, .unsigned: "an integer"
    case .double: "a number"
    case .string: "text"
    case .data: "data"
    case .date: "a date"
    case .array: "an array"
    case .object: "an object"
    }
  }

  /// Nil if it fits no 64-bit integer.
  init?(integer: some BinaryInteger) {
    if let value = Int64(exactly: integer) {
      self = .integer(value)
    } else if let value = UInt64(exactly: integer) {
      self = .unsigned(value)
    } else {
      return nil
    }
  }
}

extension PlainValue {
  /// Whether another tree is the same to the byte.
  ///
  /// For `==`, texts are equal in any Unicode form, and zeros with any sign.
  func isIdentical(to other: PlainValue) -> Bool {
    switch (self, other) {
    case (.double(let value), .double(let other)):
      value.bitPattern == other.bitPattern
    case (.string(let text), .string(let other)):
      text.utf8.elementsEqual(other.utf8)
    case (.array(let values), .array(let others)):
      values.elementsEqual(others) { $0.isIdentical(to: $1) }
    case (.object(let values), .object(let others)):
      values.count == others.count
        && values.allSatisfy { name, value in
          guard let index = others.index(forKey: name) else { return false }
          let other = others[index]
          return name.utf8.elementsEqual(other.key.utf8) && value.isIdentical(to: other.value)
        }
    default: self == other
    }
  }

  /// Whether it has all values of another tree; objects may have more.
  func hasAll(of other: PlainValue) -> Bool {
    switch (self, other) {
    case (.array(let values), .array(let others)):
      values.count == others.count && zip(values, others).allSatisfy { $0.hasAll(of: $1) }
    case (.object(let values), .object(let others)):
      others.allSatisfy { name, other in values[name]?.hasAll(of: other) == true }
    default: self == other
    }
  }
}

extension PlainValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  /// Makes null.
  public init(nilLiteral: ()) { self = .null }
  /// Makes a truth value.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  /// Makes an integer.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// Makes a number with a fraction.
  public init(floatLiteral value: Double) { self = .double(value) }
  /// Makes text.
  public init(stringLiteral value: String) { self = .string(value) }
  /// Makes an array.
  public init(arrayLiteral values: PlainValue...) { self = .array(values) }
  /// Makes an object; if a name appears twice, the last value counts.
  public init(dictionaryLiteral values: (String, PlainValue)...) {
    self = .object(Dictionary(values, uniquingKeysWith: { $1 }))
  }
}

extension PlainValue: CustomStringConvertible {
  /// The tree in the style of a Swift literal, with names sorted.
  public var description: String {
    switch self {
    case .null: "nil"
    case .bool(let value): "\(value)"
    case .integer(let value): "\(value)"
    case .unsigned(let value): "\(value)"
    case .double(let value): "\(value)"
    case .string(let value): value.debugDescription
    case .data(let value): "\(value.count) bytes"
    case .date(let value): DiffShape.describe(value)
    case .array(let values): "\(values)"
    case .object(let values):
      values.isEmpty
        ? "[:]"
        : "["
          + values.sorted { $0.key < $1.key }
          .map { "\($0.key.debugDescription): \($0.value)" }.joined(separator: ", ") + "]"
    }
  }
}
