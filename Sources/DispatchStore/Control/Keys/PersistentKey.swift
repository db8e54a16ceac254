public import Foundation

/// The key of a persisted element, which is saved as text.
///
/// Text, integers and `UUID` conform. A type with a raw value of one of these only has to declare it:
///
///     struct OrderID: RawRepresentable, PersistentKey { let rawValue: Int }
///
/// Equal keys must have equal texts, and different keys different ones. A text must be that of the key that it gives back:
/// rows of which that is not true, such as "007" for an `Int`, are not loaded. Text is saved in Unicode form C, since Swift
/// compares it so; it has no U+0000.
public protocol PersistentKey: Hashable, Sendable {
  /// The text.
  var persistentText: String { get }

  /// Returns the key of a saved text; nil if that is none.
  ///
  /// A function, since another initializer would make `flatMap(Int.init)` ambiguous.
  static func key(ofPersistentText text: String) -> Self?
}

extension PersistentKey where Self: LosslessStringConvertible {
  /// The description.
  public var persistentText: String { description }

  /// Returns the key of its description.
  public static func key(ofPersistentText text: String) -> Self? { Self(text) }
}

extension PersistentKey where Self: RawRepresentable, RawValue: PersistentKey {
  /// The text of the raw value.
  public var persistentText: String { rawValue.persistentText }

  /// Returns the key of its raw value's text.
  public static func key(ofPersistentText text: String) -> Self? {
    RawValue.key(ofPersistentText: text).flatMap { Self(rawValue: $0) }
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

  /// Returns the UUID of its text.
  public static func key(ofPersistentText text: String) -> UUID? { UUID(uuidString: text) }
}

extension PersistentKey {
  /// The text as it is saved; nil if it has U+0000.
  var savedText: String? {
    let text = persistentText
    return text.utf8.contains(0) ? nil : text.inFormC
  }
}

extension String {
  /// The text in Unicode form C, in which equal texts are the same bytes.
  var inFormC: String {
    utf8.allSatisfy { $0 < 0x80 } ? self : precomposedStringWithCanonicalMapping
  }
}
