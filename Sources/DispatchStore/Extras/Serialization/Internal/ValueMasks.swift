/// The values that are not written into a log.
package struct ValueMasks: Sendable {
  /// Stands for a value that is not written.
  struct Hidden: CustomStringConvertible, Sendable {
    var description: String { ValueMasks.text }
  }

  package static let text = "‹masked›"

  private let types: Set<ObjectIdentifier>
  private let fields: [ObjectIdentifier: Set<String>]

  package init(_ masks: [LogMask] = []) {
    var (types, fields): (Set<ObjectIdentifier>, [ObjectIdentifier: Set<String>]) = ([], [:])
    for mask in masks {
      if let field = mask.field {
        fields[mask.type, default: []].insert(field)
      } else {
        types.insert(mask.type)
      }
    }
    (self.types, self.fields) = (types, fields)
  }

  var isEmpty: Bool { types.isEmpty && fields.isEmpty }

  /// Whether a value is not written at all.
  func hide(_ value: Any) -> Bool {
    value is Hidden || !types.isEmpty && types.contains(ObjectIdentifier(type(of: value)))
  }

  /// Whether a part of a value, outside of objects, may be one that is not written.
  func hidePart(of value: Any, depth: Int = 0) -> Bool {
    if type(of: value) is AnyClass { return false }
    return depth == 32 || fields[ObjectIdentifier(type(of: value))] != nil
      || Mirror(reflecting: value).children.contains {
        hide($0.value) || hidePart(of: $0.value, depth: depth + 1)
      }
  }

  /// Whether a field of a type is not written.
  func hide(_ field: String, of type: Any.Type) -> Bool {
    fields[ObjectIdentifier(type)]?.contains(field) == true
  }

  /// Returns the fields of a value, those that are not written replaced.
  func masked(_ parts: [DiffField], of value: Any) -> [DiffField] {
    guard !fields.isEmpty, let hidden = fields[ObjectIdentifier(type(of: value))] else {
      return parts
    }
    return parts.map { part in
      hidden.contains(part.label) ? DiffField(label: part.label, value: Hidden()) : part
    }
  }

  /// Whether a value has something in it that is not written.
  func concern(_ value: Any) -> Bool {
    if isEmpty { return false }
    var writer = DiffWriter(readsObjects: false, masks: self)
    return writer.line(value)?.contains(Self.text) != false || hasOpaqueParts(value)
  }

  /// Whether something in a value says itself how it is reflected, or is an object: it may have more in it than is seen.
  private func hasOpaqueParts(_ value: Any, depth: Int = 0) -> Bool {
    if type(of: value) is AnyClass || DiffShape.reflectsItself(value) { return true }
    return depth == 32
      || Mirror(reflecting: value).children.contains { hasOpaqueParts($0.value, depth: depth + 1) }
  }
}
