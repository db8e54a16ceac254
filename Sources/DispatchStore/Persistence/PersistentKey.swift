public import Foundation

/// The key of a persisted element, which is saved as text.
///
/// Text, integers and `UUID` conform. A type with a raw value of one of these only has to declare it:
///
///     struct OrderID: RawRepresentable, PersistentKey { let rawValue: Int }
///
/// Equal keys must have equal texts. Text is saved in Unicode form C, since Swift compares it so; it has no U+0000.
public protocol PersistentKey: Hashable, Sendable {
  /// The text.
  var persistentText: String { get }

  /// Makes the key of a saved text; nil if that is none.
  init?(persistentText: String)
}

extension PersistentKey where Self: LosslessStringConvertible {
  /// The description.
  public var persistentText: String { description }

  /// Makes the key of its description.
  public init?(persistentText: String) { self.init(persistentText) }
}

extension PersistentKey where Self: RawRepresentable, RawValue: PersistentKey {
  /// The text of the raw value.
  public var persistentText: String { rawValue.persistentText }

  /// Makes the key of its raw value's text.
  public init?(persistentText: String) {
    guard let value = RawValue(persistentText: persistentText) else { return nil }
    self.init(rawValue: value)
  }
}

extension String: PersistentKey {}
extension Int: PersistentKey {}
extension Int8: PersistentKey {}
extension Int16: PersistentKey {}
extension Int32: PersistentKey {}
extension Int64: PersistentKey {}
extension UInt: PersistentKey {}
extension UInt8: PersistentKey {}
extension UInt16: PersistentKey {}
extension UInt32: PersistentKey {}
extension UInt64: PersistentKey {}

extension UUID: PersistentKey {
  /// The UUID's text.
  public var persistentText: String { uuidString }

  /// Makes the UUID of its text.
  public init?(persistentText: String) { self.init(uuidString: persistentText) }
}

extension PersistentKey {
  /// The text as it is saved; nil if it has U+0000.
  var savedText: String? {
    let text = persistentText
    let utf8 = text.utf8
    if utf8.contains(0) { return nil }
    return utf8.allSatisfy { $0 < 0x80 } ? text : text.precomposedStringWithCanonicalMapping
  }
}
