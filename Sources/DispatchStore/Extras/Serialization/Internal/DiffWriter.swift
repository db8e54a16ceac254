/// Writes whole values: short ones on one line, others with a line for each field or element.
package struct DiffWriter {
  /// The number of elements of a collection that are written; the others are only counted.
  package static let elementLimit = 20
  private static let lineLimit = 72

  /// The objects on the path to the current object, to detect cycles.
  private var ancestors: [ObjectIdentifier] = []
  /// Whether the fields of objects are written; if not, their descriptions or types are.
  private let readsObjects: Bool
  /// The values that are not written.
  private let masks: ValueMasks
  /// Whether a value of the program that has a description is written as that, unless something in it may be masked.
  private let prefersDescriptions: Bool
  /// The number of bytes after which nothing more of a value is written on its line.
  private let lengthLimit: Int
  private var length = 0
  private var depth = 0
  private static let depthLimit = 200

  package init(
    readsObjects: Bool = true, masks: ValueMasks = ValueMasks(), prefersDescriptions: Bool = false,
    lengthLimit: Int = .max
  ) {
    (self.readsObjects, self.masks, self.lengthLimit) = (readsObjects, masks, lengthLimit)
    self.prefersDescriptions = prefersDescriptions && masks.isEmpty
  }

  /// - Parameter prefix: The value's label.
  package mutating func lines(
    _ prefix: String, _ value: Any, mark: DiffLine.Mark, depth: Int
  ) -> [DiffLine] {
    let value = DiffShape.unwrap(value)
    if let line = line(value, limit: Self.lineLimit) {
      return [DiffLine(mark, depth, prefix + line)]
    }
    guard enter(value) else { return [DiffLine(mark, depth, prefix + "…")] }
    defer { leave(value) }
    switch DiffShape(value) {
    case .leaf(let text):
      return [DiffLine(mark, depth, prefix + text)]
    case .text(let text):
      guard text.contains(where: \.isNewline) else {
        return [DiffLine(mark, depth, prefix + text.debugDescription)]
      }
      let inner = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      return frame(
        prefix + "\"\"\"", inner.map { DiffLine(mark, depth + 1, String($0)) }, "\"\"\"", mark,
        depth)
    case .fields(let name, let fields):
      return frame(prefix + name + "(", parts(fields, mark, depth), ")", mark, depth)
    case .list(let elements):
      let fields = elements.map { DiffField(label: "", value: $0) }
      return frame(prefix + "[", parts(fields, mark, depth, isLong: true), "]", mark, depth)
    case .entries(let entries):
      let fields = sorted(entries)
      return frame(prefix + "[", parts(fields, mark, depth, isLong: true), "]", mark, depth)
    case .members(let members):
      let fields = sorted(members).map { DiffField(label: "", value: $0.base) }
      return frame(prefix + "Set(", parts(fields, mark, depth, isLong: true), ")", mark, depth)
    }
  }

  private func frame(
    _ start: String, _ inner: [DiffLine], _ end: String, _ mark: DiffLine.Mark, _ depth: Int
  ) -> [DiffLine] {
    [DiffLine(mark, depth, start)] + inner + [DiffLine(mark, depth, end)]
  }

  private mutating func parts(
    _ fields: [DiffField], _ mark: DiffLine.Mark, _ depth: Int, isLong: Bool = false
  ) -> [DiffLine] {
    let shown = isLong ? fields.prefix(Self.elementLimit) : fields[...]
    var lines = shown.flatMap { self.lines($0.prefix, $0.value, mark: mark, depth: depth + 1) }
    if shown.count < fields.count {
      lines.append(DiffLine(mark, depth + 1, "… \(fields.count - shown.count) more"))
    }
    return lines
  }

  // MARK: On one line

  /// Writes the whole value on one line; nil if that is longer than the limit.
  package mutating func line(_ value: Any, limit: Int = .max) -> String? {
    let value = DiffShape.unwrap(value)
    guard depth < Self.depthLimit, enter(value) else { return "…" }
    depth += 1
    defer {
      leave(value)
      depth -= 1
    }
    let (start, fields, end): (String, [DiffField], String)
    if masks.hide(value) { return ValueMasks.text }
    if prefersDescriptions, let text = DiffShape.description(of: value) { return text }
    switch shape(of: value) {
    case .leaf(let text):
      length += text.utf8.count
      return text.count <= limit ? text : nil
    case .text(let text):
      length += text.utf8.count
      // Quoting a long text takes long.
      if text.utf8.count > lengthLimit {
        return String(text.unicodeScalars.prefix(lengthLimit)).debugDescription + "…"
      }
      let isShort = limit == .max || text.count <= limit && !text.contains(where: \.isNewline)
      return isShort ? text.debugDescription : nil
    case .fields(let name, let parts):
      (start, fields, end) = (name + "(", masks.masked(parts, of: value), ")")
    case .list(let elements):
      (start, fields, end) = ("[", elements.map { DiffField(label: "", value: $0) }, "]")
    case .entries(let entries):
      if entries.count * 2 > limit { return nil }
      (start, fields, end) = (entries.isEmpty ? "[:" : "[", sorted(entries), "]")
    case .members(let members):
      if members.count * 2 > limit { return nil }
      (start, end) = ("Set(", ")")
      fields = sorted(members).map { DiffField(label: "", value: $0.base) }
    }
    return line(start, fields, end, limit)
  }

  /// The structure of a value, without what a description could tell if something in it may be masked.
  private func shape(of value: Any) -> DiffShape {
    if masks.isEmpty {
      return readsObjects ? DiffShape(value) : DiffShape(withoutObjects: value)
    }
    if !readsObjects, type(of: value) is AnyClass || DiffShape.reflectsItself(value) {
      return .leaf("\(type(of: value))")
    }
    let shape = DiffShape(value)
    guard case .leaf = shape else { return shape }
    let children = Mirror(reflecting: value).children
    if children.isEmpty { return shape }
    guard "\(type(of: value))".contains("<") || masks.hidePart(of: value) else { return shape }
    return .fields(
      name: "\(type(of: value))",
      children.map { DiffField(label: $0.label ?? "", value: $0.value) })
  }

  private mutating func line(
    _ start: String, _ fields: [DiffField], _ end: String, _ limit: Int
  ) -> String? {
    var (text, left) = (start, limit == .max ? .max : limit - start.count - end.count)
    for (index, field) in fields.enumerated() {
      if length > lengthLimit {
        text += "…"
        break
      }
      let prefix = (index > 0 ? ", " : "") + field.prefix
      length += prefix.utf8.count
      if left != .max { left -= prefix.count }
      guard left >= 0, let value = line(field.value, limit: left) else { return nil }
      if left != .max { left -= value.count }
      text += prefix + value
    }
    return left >= 0 ? text + end : nil
  }

  // MARK: Order

  /// Returns the entries in the order of their keys' descriptions.
  mutating func sorted(_ entries: [AnyHashable: Any]) -> [DiffField] {
    entries.map { DiffField(label: sortKey(of: $0.key), value: $0.value) }
      .sorted { $0.label < $1.label }
  }

  /// Returns the members in the order of their descriptions.
  mutating func sorted(_ members: Set<AnyHashable>) -> [AnyHashable] {
    members.map { (sortKey(of: $0), $0) }.sorted { $0.0 < $1.0 }.map(\.1)
  }

  /// Describes a key or a member, which counts for the length only once it is written.
  private mutating func sortKey(of element: AnyHashable) -> String {
    let former = length
    defer { length = former }
    return line(element.base) ?? ""
  }

  // MARK: Objects that refer back to themselves

  private mutating func enter(_ value: Any) -> Bool {
    guard type(of: value) is AnyClass else { return true }
    let identity = ObjectIdentifier(value as AnyObject)
    guard !ancestors.contains(identity) else { return false }
    ancestors.append(identity)
    return true
  }

  private mutating func leave(_ value: Any) {
    if type(of: value) is AnyClass { ancestors.removeLast() }
  }
}
