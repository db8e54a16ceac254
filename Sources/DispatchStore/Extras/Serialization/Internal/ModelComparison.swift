/// Compares two states of a model part by part, and names the places where they differ.
package struct ModelComparison {
  /// The depth below which values are compared as a whole, since a comparison of their parts would use up the stack.
  private static let depthLimit = 200
  private(set) var differences: [ModelDifference] = []
  /// The values that are not written.
  private let masks: ValueMasks
  /// Whether long keys are cut in paths.
  private let cutsKeys: Bool
  /// The path from the model to the current part; formatted only if something differs.
  private var path: [Step] = []
  /// The number of NaN pairs found, which are not equal but no difference.
  private var nanPairCount = 0

  init(masks: ValueMasks = ValueMasks(), cutsKeys: Bool = false) {
    (self.masks, self.cutsKeys) = (masks, cutsKeys)
  }

  /// Begins with the element of a dictionary.
  init(masks: ValueMasks, at dictionary: String, key: Any, cutsKeys: Bool) {
    self.init(masks: masks, cutsKeys: cutsKeys)
    path = [.member(dictionary), .key(line(key, prefersDescriptions: true))]
  }

  private enum Step {
    /// A property, or an enum's case.
    case member(String)
    case index(Int)
    /// The description of a key, or of a set's member.
    case key(String)
    /// A step into an optional that has a value.
    case unwrapped
  }

  mutating func compare(_ old: Any, _ new: Any) {
    if let old = DiffShape.optional(old), let new = DiffShape.optional(new) {
      return compareOptionals(old, new)
    }
    if type(of: old) is AnyClass, type(of: new) is AnyClass {
      if !Self.areEqual(old, new) { add(old, new) }
      return
    }
    let isEqual = DiffShape.isEqual(old, new)
    if isEqual == true { return }
    if Self.areNaN(old, new) { return nanPairCount += 1 }
    if masks.hide(old) || masks.hide(new) { return compareHidden(old, new) }
    if path.count >= Self.depthLimit { return add(old, new) }
    let (count, nanPairs) = (differences.count, nanPairCount)
    compareParts(old, new)
    // A type's `==` may find a difference that its parts don't show.
    if isEqual == false, differences.count == count, nanPairCount == nanPairs {
      add(old, new)
    }
  }

  /// Compares values that are not written, but for whether they differ.
  private mutating func compareHidden(_ old: Any, _ new: Any) {
    if !Self.areEqual(old, new) { add(ValueMasks.Hidden(), ValueMasks.Hidden()) }
  }

  /// Compares an element that may have been inserted or removed.
  mutating func compareElements(_ old: Any?, _ new: Any?) {
    if let old, let new { compare(old, new) } else { add(old, new) }
  }

  private mutating func compareOptionals(_ old: Any?, _ new: Any?) {
    switch (old, new) {
    case (nil, nil): return
    case (let old?, let new?): step(.unwrapped) { $0.compare(old, new) }
    default: add(old, new)
    }
  }

  private mutating func compareParts(_ old: Any, _ new: Any) {
    switch (DiffShape(old), DiffShape(new)) {
    case (.leaf(let left), .leaf(let right)) where left == right:
      return
    case (.text(let left), .text(let right)) where left == right:
      return
    case (.fields(let name, let left), .fields(let other, let right))
    where name == other && left.map(\.label) == right.map(\.label):
      let owner: any Any.Type = type(of: old)
      guard name.hasPrefix(".") else { return compareFields(left, right, of: owner) }
      step(.member(String(name.dropFirst()))) {
        $0.compareFields(left, right, of: owner, isPayload: true)
      }
    case (.list(let left), .list(let right)):
      compareLists(left, right)
    case (.entries(let left), .entries(let right)):
      compareEntries(left, right)
    case (.members(let left), .members(let right)):
      compareMembers(left, right)
    default:
      add(old, new)
    }
  }

  private mutating func compareFields(
    _ old: [DiffField], _ new: [DiffField], of owner: any Any.Type, isPayload: Bool = false
  ) {
    for (index, (left, right)) in zip(old, new).enumerated() {
      if isPayload, old.count == 1, left.label.isEmpty {
        compare(left.value, right.value)
      } else {
        let name = left.label.isEmpty ? "\(index)" : left.label
        let isHidden = masks.hide(left.label, of: owner)
        step(.member(name)) { comparison in
          if isHidden {
            comparison.compareHidden(left.value, right.value)
          } else {
            comparison.compare(left.value, right.value)
          }
        }
      }
    }
  }

  private mutating func compareLists(_ old: [Any], _ new: [Any]) {
    let alignment = ListAlignment(
      old, new, isSame: Self.areEqual,
      key: { $0 as? AnyHashable ?? AnyHashable(ModelDifference.line($0)) })
    for row in alignment.rows {
      switch row {
      case .unchanged:
        continue
      case .pair(let index, let other):
        step(.index(other)) { $0.compare(old[index], new[other]) }
      case .removed(let indices):
        for index in indices { step(.index(index)) { $0.add(old[index], nil) } }
      case .inserted(let indices):
        for index in indices { step(.index(index)) { $0.add(nil, new[index]) } }
      }
    }
  }

  private mutating func compareEntries(_ old: [AnyHashable: Any], _ new: [AnyHashable: Any]) {
    var changes: [(key: String, old: Any?, new: Any?)] = []
    for (key, value) in old {
      let other = new[key]
      if let other, Self.areEqual(value, other) { continue }
      changes.append((line(key.base), value, other))
    }
    for (key, value) in new where old[key] == nil {
      changes.append((line(key.base), nil, value))
    }
    for change in changes.sorted(by: { $0.key < $1.key }) {
      step(.key(change.key)) { $0.compareElements(change.old, change.new) }
    }
  }

  private mutating func compareMembers(_ old: Set<AnyHashable>, _ new: Set<AnyHashable>) {
    let removed = old.subtracting(new).map { (key: line($0.base), $0.base, true) }
    let added = new.subtracting(old).map { (key: line($0.base), $0.base, false) }
    for (key, member, isRemoved) in (removed + added).sorted(by: { $0.key < $1.key }) {
      step(.key(key)) { $0.add(isRemoved ? member : nil, isRemoved ? nil : member) }
    }
  }

  private func line(_ key: Any, prefersDescriptions: Bool = false) -> String {
    var writer = DiffWriter(
      readsObjects: false, masks: masks, prefersDescriptions: prefersDescriptions)
    let line = writer.line(key) ?? ""
    return cutsKeys ? line.cutAsKey : line
  }

  // MARK: The path

  private mutating func step(_ step: Step, _ body: (inout ModelComparison) -> Void) {
    path.append(step)
    body(&self)
    path.removeLast()
  }

  private mutating func add(_ old: Any?, _ new: Any?) {
    differences.append(ModelDifference(keyPath: text, old: old, new: new))
  }

  private var text: String {
    var text = ""
    for step in path {
      switch step {
      case .member(let name): text += text.isEmpty ? name : "." + name
      case .index(let index): text += (text.isEmpty ? "self" : "") + "[\(index)]"
      case .key(let key): text += (text.isEmpty ? "self" : "") + "[\(key)]"
      case .unwrapped: text += text.isEmpty ? "self?" : "?"
      }
    }
    return text.isEmpty ? "self" : text
  }
}
