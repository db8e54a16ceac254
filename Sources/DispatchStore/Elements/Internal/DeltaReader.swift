/// Finds what each commit changes in one collection of a store's model.
struct DeltaReader<Model: Sendable, Elements: KeyedCollection & Sendable>
where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
  typealias Key = Elements.ElementKey
  typealias Delta = KeyedDelta<Key, Elements.ElementValue>

  private let part: ModelPart<Model, Elements>
  private let equality: ElementEquality<Elements.ElementValue>
  private var checkpoint: Elements.Checkpoint?
  /// The content so far, where the collection does not track changes.
  private var known: [Key: Elements.ElementValue]?

  init(
    _ path: any KeyPath<Model, Elements> & Sendable,
    _ equality: ElementEquality<Elements.ElementValue>
  ) {
    part = ModelPart(path)
    self.equality = equality
  }

  /// Begins with the present content; called in the exclusive section.
  ///
  /// - Returns: That content as a delta.
  mutating func begin(_ model: UnsafeRawPointer, version: UInt64) -> Delta {
    let (checkpoint, content) = part.read(of: model) {
      ($0.pointee.makeCheckpoint(), $0.pointee.valuesByKey)
    }
    self.checkpoint = checkpoint
    if !Elements.tracksChanges { known = content }
    return Delta(versions: version...version, content: content)
  }

  /// No more is read; called in the exclusive section.
  mutating func end(_ model: UnsafeRawPointer) {
    guard let checkpoint = checkpoint.take() else { return }
    part.read(of: model) { $0.pointee.release(checkpoint) }
  }

  /// What a commit has changed, and those before that were not delivered; nil where nothing.
  mutating func readDelta(of commit: CommitInProgress) -> Delta? {
    guard let checkpoint else { return nil }
    return part.read(of: commit.model) { elements in
      let changes = elements.pointee.changes(since: checkpoint)
      self.checkpoint = elements.pointee.makeCheckpoint()
      switch changes {
      case .touched(let touched):
        return touched.isEmpty ? nil : delta(of: touched, in: elements, commit.version)
      case .unknown:
        return Elements.tracksChanges
          ? Delta(versions: commit.version...commit.version, content: elements.pointee.valuesByKey)
          : difference(to: elements.pointee.valuesByKey, commit.version)
      }
    }
  }

  private func delta(
    of touched: [KeyedChanges<Key, Elements.ElementValue>.Touched],
    in elements: UnsafePointer<Elements>, _ version: UInt64
  ) -> Delta? {
    var entries: [Key: Delta.Entry] = [:]
    for element in touched where entries[element.key] == nil {
      let new = elements.pointee.value(forKey: element.key)
      entries[element.key] = Delta.Entry(old: element.old, new: new)
    }
    return delta(of: entries, version)
  }

  private mutating func difference(
    to new: [Key: Elements.ElementValue], _ version: UInt64
  ) -> Delta? {
    let old = known ?? [:]
    known = new
    var entries: [Key: Delta.Entry] = [:]
    for (key, value) in old { entries[key] = Delta.Entry(old: value, new: new[key]) }
    for (key, value) in new where old[key] == nil {
      entries[key] = Delta.Entry(old: nil, new: value)
    }
    return delta(of: entries, version)
  }

  /// Of those that differ.
  private func delta(of entries: [Key: Delta.Entry], _ version: UInt64) -> Delta? {
    let entries = entries.filter { equality.differ($0.value.old, $0.value.new) }
    return entries.isEmpty ? nil : Delta(versions: version...version, entries: entries)
  }
}
