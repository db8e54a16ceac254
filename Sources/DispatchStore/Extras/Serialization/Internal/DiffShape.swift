import Foundation

/// The structure by which a value is compared and written.
package enum DiffShape {
  case leaf(String)
  case text(String)
  /// A struct, a class, a tuple (with an empty name), or an enum's case with a payload.
  case fields(name: String, [DiffField])
  case list([Any])
  case entries([AnyHashable: Any])
  case members(Set<AnyHashable>)

  package init(_ value: Any) {
    switch value {
    case let text as String: self = .text(text)
    case let text as Substring: self = .text(String(text))
    case let data as Data: self = .leaf(Self.describe(data))
    case let date as Date: self = .leaf(Self.describe(date))
    case is any Any.Type: self = .leaf("\(value).self")
    default: self = Self.reflect(value)
    }
  }

  /// Makes the structure of a value, with only the description of an object, because other threads may change its
  /// fields.
  init(withoutObjects value: Any) {
    guard type(of: value) is AnyClass else {
      self.init(value)
      return
    }
    self = .leaf(value is any CustomStringConvertible ? Self.plain(value) : "\(type(of: value))")
  }

  private static func reflect(_ value: Any) -> DiffShape {
    let mirror = Mirror(reflecting: value)
    switch mirror.displayStyle {
    case .optional:
      return .leaf("nil")
    case .collection:
      return .list(value as? [Any] ?? mirror.children.map(\.value))
    case .dictionary:
      let dictionary = (value as? any DictionaryWrapper)?.wrappedDictionary ?? value
      if let entries = dictionary as? [AnyHashable: Any] { return .entries(entries) }
      return .list(mirror.children.map(\.value))
    case .set:
      if let members = value as? Set<AnyHashable> { return .members(members) }
      return .list(mirror.children.map(\.value))
    case .tuple:
      return .fields(name: "", fields(of: mirror))
    case .enum:
      guard let payload = mirror.children.first, let name = payload.label else {
        return .leaf(value is any CustomStringConvertible ? plain(value) : ".\(value)")
      }
      return .fields(name: "." + name, fields(ofPayload: payload.value))
    case .struct, .class, .foreignReference:
      if isLeaf(value) { return leaf(value) }
      return .fields(name: "\(type(of: value))", fields(of: mirror))
    default:
      return leaf(value)
    }
  }

  /// Returns a value as its description, unless that would tell values that may be masked.
  private static func leaf(_ value: Any) -> DiffShape {
    if let view = value as? any DictionaryView { return .list(view.members) }
    return .leaf(plain(value))
  }

  /// Returns the fields, with those of a superclass first.
  private static func fields(of mirror: Mirror) -> [DiffField] {
    let inherited = mirror.superclassMirror.map(fields(of:)) ?? []
    return inherited
      + mirror.children.map { child in
        // The labels of unlabeled tuple elements are ".0" and so on.
        let label = child.label ?? ""
        return DiffField(label: label.hasPrefix(".") ? "" : label, value: child.value)
      }
  }

  private static func fields(ofPayload payload: Any) -> [DiffField] {
    let mirror = Mirror(reflecting: payload)
    if mirror.displayStyle == .tuple { return fields(of: mirror) }
    return [DiffField(label: "", value: payload)]
  }

  /// Whether a value is of the standard library or Foundation, whose descriptions say more than their fields.
  private static func isLeaf(_ value: Any) -> Bool {
    value is any CustomStringConvertible && isOfSystem(value)
  }

  private static func isOfSystem(_ value: Any) -> Bool {
    let name = String(reflecting: type(of: value))
    return name.hasPrefix("Swift.") || name.hasPrefix("Foundation")
  }

  /// Whether a type of the program says itself how its values are reflected.
  static func reflectsItself(_ value: Any) -> Bool {
    value is any CustomReflectable && !(value is any DictionaryWrapper) && !isOfSystem(value)
  }

  /// The description of a value whose own type, a struct or an enum, says how it is written.
  static func description(of value: Any) -> String? {
    guard let described = value as? any CustomStringConvertible, !isLeaf(value) else { return nil }
    switch Mirror(reflecting: value).displayStyle {
    case .struct, .enum: return described.description
    default: return nil
    }
  }

  /// Describes a date with its fraction of a second; Foundation stops the program at dates of no calendar.
  static func describe(_ date: Date) -> String {
    let seconds = date.timeIntervalSinceReferenceDate
    guard abs(seconds) < 1e11 else { return "\(seconds) s since 2001" }
    let whole = seconds.rounded(.down)
    let text = Date(timeIntervalSinceReferenceDate: whole).description
    if seconds == whole { return text }
    let fraction = "\(seconds < 0 ? seconds - whole : seconds)".drop { $0 != "." }
    return text.replacing(" +", with: "\(fraction) +")
  }

  private static func describe(_ data: Data) -> String {
    let start = data.prefix(16).map { byte in
      String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
    }
    return "\(data.count) bytes <\(start.joined())\(data.count > 16 ? "…" : "")>"
  }

  /// A description without addresses, which differ from run to run.
  private static func plain(_ value: Any) -> String {
    let text = String(describing: value)
    guard text.contains("0x") else { return text }
    return text.replacing(#/0x[0-9a-fA-F]{6,}/#, with: "0x…")
  }
}

/// A collection that is compared and written as the dictionary in it.
protocol DictionaryWrapper {
  var wrappedDictionary: Any { get }
}

extension TrackedDictionary: DictionaryWrapper {
  var wrappedDictionary: Any { dictionary }
}

/// The keys or the values of a dictionary, whose description would tell all of them.
private protocol DictionaryView {
  var members: [Any] { get }
}

extension Dictionary.Keys: DictionaryView {
  fileprivate var members: [Any] { Array(self) }
}

extension Dictionary.Values: DictionaryView {
  fileprivate var members: [Any] { Array(self) }
}

/// A field of a value, with its name if it has one.
package struct DiffField {
  package let label: String
  package let value: Any

  /// The text before the value.
  package var prefix: String { label.isEmpty ? "" : label + ": " }
}

extension DiffShape {
  /// Returns the wrapped value of an optional, which may be nil; the outer nil means that the value is no optional.
  static func optional(_ value: Any) -> Any?? {
    guard let optional = value as? any Wrapping else { return nil }
    return .some(optional.wrapped)
  }

  /// Returns the value that an optional wraps; nil is returned unchanged.
  package static func unwrap(_ value: Any) -> Any {
    if type(of: value) == AnyHashable.self { return unwrap((value as! AnyHashable).base) }
    guard let wrapped = (value as? any Wrapping)?.wrapped else { return value }
    return unwrap(wrapped)
  }

  /// Returns the type that an optional type wraps; another type is returned unchanged.
  static func unwrapped(_ type: Any.Type) -> Any.Type {
    (type as? any Wrapping.Type).map { unwrapped($0.wrappedType) } ?? type
  }

  /// Whether two values are equal by their type's `==`; nil if it has none.
  package static func isEqual(_ expected: Any, _ actual: Any) -> Bool? {
    guard let expected = expected as? any Equatable else { return nil }
    return expected.equals(actual)
  }

  /// Returns the identity that an element keeps while it changes.
  package static func identity(of value: Any) -> AnyHashable? {
    (value as? any Identifiable)?.hashableID
  }
}

private protocol Wrapping {
  static var wrappedType: Any.Type { get }
  var wrapped: Any? { get }
}

extension Optional: Wrapping {
  fileprivate static var wrappedType: Any.Type { Wrapped.self }
  fileprivate var wrapped: Any? { self }
}

extension Equatable {
  fileprivate func equals(_ other: Any) -> Bool? {
    (other as? Self).map { self == $0 }
  }
}

extension Identifiable {
  fileprivate var hashableID: AnyHashable { AnyHashable(id) }
}
