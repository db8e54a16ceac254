/// Reads what each commit changes in a store, for an undo history or a recorder.
///
/// A tape keeps the last model without its tracked dictionaries, so a commit copies what it changes in other collections.
final class StoreTape: ObserverRecord, @unchecked Sendable {
  // because the store's lock guards what changes
  /// The place among the tapes of the sink.
  let index: Int
  /// The address of the store, also while it goes.
  let storeAddress: ObjectIdentifier
  let storeIdentifier: String
  /// The store, while it exists.
  private(set) weak var store: (any TapedStore)?
  private let sink: any TapeSink
  private var parts: [PartUndo] = []
  /// The readers of the parts.
  @exclusivity(unchecked) private var readers: [ChangeReader] = []
  /// The last model without its parts, and its version.
  private var last: (rest: ModelRest, version: UInt64)?
  /// Whether the commit in progress is the sink's own.
  private var skips = false

  /// Begins to read a store.
  init(of store: any TapedStore, to sink: any TapeSink, index: Int) {
    (self.store, self.sink, self.index) = (store, sink, index)
    (storeAddress, storeIdentifier) = (ObjectIdentifier(store), store.identifier)
    super.init()
    store.begin(self)
  }

  /// A tape that misses a commit would later set the model to what it was before that commit.
  override var keepsHidden: Bool { true }
  override var needsOwner: Bool { false }

  override func begin(with model: UnsafeRawPointer, version: UInt64) {
    guard let store, sink.begin(self, of: store) else { return cancel() }
    read(model, version, of: store)
  }

  override func modelWasLoaded(
    _ model: UnsafeRawPointer, version: UInt64, _ kept: inout KeptCommit
  ) {
    guard let store else { return }
    read(model, version, of: store)
    if let former = sink.storeWasLoaded() { kept.release(former) }
  }

  private func read(_ model: UnsafeRawPointer, _ version: UInt64, of store: any TapedStore) {
    parts = store.storageOfTape.partsUndoneInPlace.sorted {
      $0.bytes.lowerBound < $1.bytes.lowerBound
    }
    readers = parts.map { part in
      var reader = ChangeReader()
      part.beginReading(model, &reader)
      return reader
    }
    last = (store.makeRest(of: model, without: parts), version)
  }

  override func keep(_ commit: CommitInProgress, _ kept: inout KeptCommit) {
    if commit.isPresentModel { return }
    guard let last = last.take() else { return }
    let rest = last.rest.makeNext(of: commit.model)
    let taped = TapedCommit(
      index: index, identifier: storeIdentifier, versions: (last.version, commit.version),
      dispatchIDs: commit.dispatchID.map { ShortList($0) } ?? ShortList(),
      isTogether: commit.isTogether, rests: (last.rest, rest))
    for index in readers.indices {
      taped.append(parts[index].takeChange(commit.model, &readers[index]))
    }
    self.last = (rest, commit.version)
    if skips {
      skips = false
      return kept.release(taped)
    }
    sink.keep(
      taped, action: store?.action(at: commit.action), of: store?.dispatcher, &kept)
  }

  override func storeGoes(_ commit: CommitInProgress) { sink.storeGoes(self) }

  /// Ends reading; may be called in an exclusive section, whose code may release a history or a recorder.
  func endTape() { end(in: store?.storageOfTape) }

  override func remove(from storage: StoreStorage) {
    super.remove(from: storage)
    storage.withLock { _ in readers = [] }
  }

  /// Makes the entry for a dispatch that sets the store's model; nil if the store is gone.
  ///
  /// - Parameters:
  ///   - action: The action that observers get, if the store has it.
  ///   - changes: Returns the changes to make, in the store's exclusive section. All of their commits are kept until the
  ///     dispatch has ended.
  func restoringEntry(
    of actionType: any ActionType.Type, noting action: AnyAction? = nil,
    _ changes: @escaping @Sendable () -> [StateDistance]
  ) -> StoreEntry? {
    store?.restoringEntry(of: actionType, noting: action, at: index) { model in
      let distances = changes()
      self.skips = !distances.allSatisfy(\.isEmpty)
      for distance in distances { distance.apply(to: model) }
      return self.skips
    }
  }
}

/// Keeps the commits of several stores.
protocol TapeSink: AnyObject, Sendable {
  /// Notes that a tape begins, in the store's exclusive section.
  ///
  /// Returns false if another tape reads the store already; this one then keeps nothing.
  func begin(_ tape: StoreTape, of store: AnyStore) -> Bool

  /// Keeps a commit, in its store's exclusive section.
  ///
  /// - Parameters:
  ///   - dispatcher: The store's dispatcher.
  ///   - kept: Takes what is to be released outside of the section.
  func keep(
    _ commit: TapedCommit, action: @autoclosure () -> AnyAction?,
    of dispatcher: @autoclosure () -> Dispatcher?, _ kept: inout KeptCommit)

  /// Forgets all commits so far, since a store has got another model, or is read in another way.
  ///
  /// Returns what is to be released.
  func storeWasLoaded() -> AnyObject?

  /// Notes that a store is gone.
  func storeGoes(_ tape: StoreTape)
}

extension TapeSink {
  func begin(_ tape: StoreTape, of store: AnyStore) -> Bool { true }
  func storeGoes(_ tape: StoreTape) {}
}

/// A commit, or several of one dispatch or step, as a tape has read it.
final class TapedCommit: @unchecked Sendable {
  // because it is constant but for what its recorder or history sets under its lock
  /// The tape.
  let index: Int
  let identifier: String
  /// The store's versions before and after.
  let versions: (old: UInt64, new: UInt64)
  /// The last dispatches that have made it: more than one if it was merged.
  let dispatchIDs: ShortList<DispatchID>
  var dispatchID: DispatchID? { dispatchIDs.last }
  /// Whether it is a part of an atomic action's change.
  let isTogether: Bool
  /// The models before and after, without the parts.
  let rests: (old: ModelRest, new: ModelRest)
  @exclusivity(unchecked) private var changes = ShortList<(any PartChange)?>()
  /// Whether the former state is known.
  private(set) var canBeUndone = true
  /// The number of commits that were merged into this one.
  let mergedCount: Int
  /// The place among all commits of a recorder, or the number of its step in a history.
  var place = 0
  /// The key of its step in a history.
  var key: TypedKey?
  /// The time of its step's last commit, in nanoseconds; zero without a key.
  var time: Int64 = 0
  /// The number of lists of a recorder that have it.
  var holderCount = 0
  /// An estimate of its size in bytes, zero before it is measured.
  var size = 0

  init(
    index: Int, identifier: String, versions: (old: UInt64, new: UInt64),
    dispatchIDs: ShortList<DispatchID>, isTogether: Bool, rests: (old: ModelRest, new: ModelRest),
    mergedCount: Int = 1
  ) {
    (self.isTogether, self.mergedCount) = (isTogether, mergedCount)
    (self.index, self.identifier, self.versions) = (index, identifier, versions)
    (self.dispatchIDs, self.rests) = (dispatchIDs, rests)
  }

  /// Adds the change of the next part, before the commit is kept.
  func append(_ change: (any PartChange)?) {
    if change?.canBeUndone == false { canBeUndone = false }
    changes.append(change)
  }

  /// Makes the model what it was before, in the store's exclusive section.
  func undo(in model: UnsafeMutableRawPointer) {
    for change in changes.reversed() { change?.undo(in: model) }
    rests.old.set(in: model)
  }

  /// Makes the model what it was afterwards, in the store's exclusive section.
  func redo(in model: UnsafeMutableRawPointer) {
    for change in changes { change?.redo(in: model) }
    rests.new.set(in: model)
  }

  /// Returns this commit and a later one of the same store as one.
  func merged(with later: TapedCommit) -> TapedCommit {
    var dispatchIDs = dispatchIDs
    for id in later.dispatchIDs { dispatchIDs.note(id) }
    let merged = TapedCommit(
      index: index, identifier: identifier, versions: (versions.old, later.versions.new),
      dispatchIDs: dispatchIDs, isTogether: later.isTogether,
      rests: (rests.old, later.rests.new), mergedCount: mergedCount + later.mergedCount)
    for (former, change) in zip(changes, later.changes) {
      merged.append(change.map { former?.merged(with: $0) ?? $0 } ?? former)
    }
    return merged
  }

  /// The changes of the parts that have changed.
  var partChanges: [any PartChange] { changes.compactMap(\.self) }
}

/// The changes between two states of a store.
struct StateDistance: Sendable {
  /// The commits, the oldest first.
  let commits: [TapedCommit]
  /// Whether they are undone, the latest first, or done again.
  let isBack: Bool

  var isEmpty: Bool { commits.isEmpty }

  func apply(to model: UnsafeMutableRawPointer) {
    if isBack {
      for commit in commits.reversed() { commit.undo(in: model) }
    } else {
      for commit in commits { commit.redo(in: model) }
    }
  }
}

/// Values that are no longer kept, to be released outside of locks.
final class Released: Sendable {
  private let values: [any Sendable]

  init(_ values: any Sendable...) { self.values = values }
}

/// A model with its parts empty.
class ModelRest: @unchecked Sendable {  // because it is constant
  var model: Any { fatalError("ModelRest is abstract.") }

  /// Makes the rest of a later model, or returns this one if only parts have changed.
  func makeNext(of model: UnsafeRawPointer) -> ModelRest { fatalError("ModelRest is abstract.") }

  /// Sets a model but for its parts.
  func set(in model: UnsafeMutableRawPointer) { fatalError("ModelRest is abstract.") }
}

private final class TypedRest<Model: Sendable>: ModelRest, @unchecked Sendable {
  // because its superclass says so
  private let typed: Model
  private let parts: [PartUndo]

  init(_ model: UnsafeRawPointer, without parts: [PartUndo]) {
    var rest = model.assumingMemoryBound(to: Model.self).pointee
    withUnsafeMutablePointer(to: &rest) { rest in for part in parts { part.empty(rest) } }
    (typed, self.parts) = (rest, parts)
  }

  override var model: Any { typed }

  override func makeNext(of model: UnsafeRawPointer) -> ModelRest {
    isRest(of: model) ? self : TypedRest(model, without: parts)
  }

  /// Whether a model has the same bytes as this one before, between and behind the parts, which are in order.
  private func isRest(of model: UnsafeRawPointer) -> Bool {
    withUnsafePointer(to: typed) { typed in
      var start = 0
      for part in parts {
        let count = part.bytes.lowerBound - start
        if count < 0 || !haveSameBytes(UnsafeRawPointer(typed) + start, model + start, count) {
          return false
        }
        start = part.bytes.upperBound
      }
      return haveSameBytes(
        UnsafeRawPointer(typed) + start, model + start, MemoryLayout<Model>.size - start)
    }
  }

  override func set(in model: UnsafeMutableRawPointer) {
    var copy = typed
    withUnsafeMutablePointer(to: &copy) { copy in
      for part in parts { part.swapParts(copy, model) }
    }
    swap(&copy, &model.assumingMemoryBound(to: Model.self).pointee)
  }
}

/// A store of any types that a tape can read: any `Store`.
protocol TapedStore: StoreType {
  var storageOfTape: StoreStorage { get }
  var dispatcher: Dispatcher? { get }

  func begin(_ tape: StoreTape)
  /// Makes the rest of a model of the store's type.
  func makeRest(of model: UnsafeRawPointer, without parts: [PartUndo]) -> ModelRest
  /// Returns the action at the address of an optional one of the store's type.
  func action(at address: UnsafeRawPointer) -> AnyAction?
  func restoringEntry(
    of actionType: any ActionType.Type, noting action: AnyAction?, at index: Int,
    _ change: @escaping @Sendable (UnsafeMutableRawPointer) -> Bool
  ) -> StoreEntry
}

extension Store: TapedStore {
  var storageOfTape: StoreStorage { storage }

  func begin(_ tape: StoreTape) { add(tape, initial: false) }

  func makeRest(of model: UnsafeRawPointer, without parts: [PartUndo]) -> ModelRest {
    TypedRest<Model>(model, without: parts)
  }

  func action(at address: UnsafeRawPointer) -> AnyAction? {
    address.assumingMemoryBound(to: Action?.self).pointee
  }

  func restoringEntry(
    of actionType: any ActionType.Type, noting action: AnyAction?, at index: Int,
    _ change: @escaping @Sendable (UnsafeMutableRawPointer) -> Bool
  ) -> StoreEntry {
    RestoringEntry(self, of: actionType, noting: action, at: index) { change($0) }
  }
}
