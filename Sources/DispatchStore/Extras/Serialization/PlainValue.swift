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
}

// Conversion to and from Foundation's types.
extension PlainValue {
  /// The tree as dictionaries, arrays and scalar types, with `NSNull` for null: an object is a `[String: any Sendable]`.
  public var foundationValue: any Sendable {
    switch self {
    case .null: NSNull()
    case .bool(let value): value
    case .integer(let value): Int(exactly: value) ?? value
    case .unsigned(let value): value
    case .double(let value): value
    case .string(let value): value
    case .data(let value): value
    case .date(let value): value
    case .array(let values): values.map(\.foundationValue)
    case .object(let values): values.mapValues(\.foundationValue)
    }
  }

  /// Makes a tree of dictionaries, arrays and scalars, such as `JSONSerialization` returns.
  ///
  /// Nil if the value contains anything else.
  public init?(foundationValue value: Any) {
    if let number = value as? NSNumber, type(of: value) is AnyClass {
      self = PlainValue(number)
      return
    }
    switch value {
    case is NSNull: self = .null
    case let value as PlainValue: self = value
    case let value as Bool: self = .bool(value)
    case let value as any BinaryInteger:
      guard let integer = PlainValue(integer: value) else { return nil }
      self = integer
    case let value as any BinaryFloatingPoint: self = .double(Double(value))
    case let value as String: self = .string(value)
    case let value as Data: self = .data(value)
    case let value as Date: self = .date(value)
    case let values as [Any]:
      let plain = values.map(PlainValue.init(foundationValue:))
      if plain.contains(nil) { return nil }
      self = .array(plain.compactMap(\.self))
    case let values as [String: Any]:
      let plain = values.mapValues(PlainValue.init(foundationValue:))
      if plain.values.contains(nil) { return nil }
      self = .object(plain.compactMapValues(\.self))
    default: return nil
    }
  }

  init?(integer: some BinaryInteger) {
    if let value = Int64(exactly: integer) {
      self = .integer(value)
    } else if let value = UInt64(exactly: integer) {
      self = .unsigned(value)
    } else {
      return nil
    }
  }

  private init(_ number: NSNumber) {
    switch String(cString: number.objCType) {
    case "c", "B": self = .bool(number.boolValue)
    case "f", "d": self = .double(number.doubleValue)
    case "Q": self = PlainValue(integer: number.uint64Value) ?? .null
    default: self = .integer(number.int64Value)
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
