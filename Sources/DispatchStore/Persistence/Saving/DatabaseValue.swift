public import Foundation

/// A value of a database's column or parameter.
public enum DatabaseValue: Hashable, Sendable {
  /// No value.
  case null
  /// An integer.
  case integer(Int64)
  /// A floating-point number.
  case real(Double)
  /// Text.
  case text(String)
  /// Bytes.
  case blob(Data)
}

extension DatabaseValue: ExpressibleByNilLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral
{
  /// Null.
  public init(nilLiteral: ()) { self = .null }
  /// An integer.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// A floating-point number.
  public init(floatLiteral value: Double) { self = .real(value) }
  /// Text.
  public init(stringLiteral value: String) { self = .text(value) }
}

/// A value that can be passed to a statement: text, a number, a truth value, bytes, a UUID, or an optional one.
public protocol DatabaseValueConvertible {
  /// The value for the database.
  var databaseValue: DatabaseValue { get }
}

extension DatabaseValue: DatabaseValueConvertible {
  /// The value itself.
  public var databaseValue: DatabaseValue { self }
}

extension String: DatabaseValueConvertible {
  /// Text.
  public var databaseValue: DatabaseValue { .text(self) }
}

extension Int: DatabaseValueConvertible {
  /// An integer.
  public var databaseValue: DatabaseValue { .integer(Int64(self)) }
}

extension Int64: DatabaseValueConvertible {
  /// An integer.
  public var databaseValue: DatabaseValue { .integer(self) }
}

extension Double: DatabaseValueConvertible {
  /// A floating-point number.
  public var databaseValue: DatabaseValue { .real(self) }
}

extension Bool: DatabaseValueConvertible {
  /// 1 or 0.
  public var databaseValue: DatabaseValue { .integer(self ? 1 : 0) }
}

extension Data: DatabaseValueConvertible {
  /// Bytes.
  public var databaseValue: DatabaseValue { .blob(self) }
}

extension UUID: DatabaseValueConvertible {
  /// The UUID's text.
  public var databaseValue: DatabaseValue { .text(uuidString) }
}

extension Optional: DatabaseValueConvertible where Wrapped: DatabaseValueConvertible {
  /// The wrapped value, or null.
  public var databaseValue: DatabaseValue { self?.databaseValue ?? .null }
}
