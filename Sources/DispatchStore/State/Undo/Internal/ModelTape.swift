/// Reads what each commit changes in a store, for an undo history or a recorder.
///
/// A tape keeps the last model without its tracked dictionaries, so a commit copies what it changes in other collections.
final class ModelTape<Model: Sendable, Action: ActionType>: ObserverRecord, StoreTape,
  @unchecked Sendable
{
  // because the store's lock guards what changes
  let index: Int
  let storeAddress: ObjectIdentifier
  private weak var store: Store<Model, Action>?
  private let sink: any TapeSink
  private var parts: [PartTracker] = []
  /// The last model, with its parts empty.
  private var rest: Model?
  /// Whether the commit in progress is the sink's own.
  private var skips = false

  init(of store: Store<Model, Action>, to sink: any TapeSink, index: Int) {
    (self.store, self.sink, self.index) = (store, sink, index)
    storeAddress = ObjectIdentifier(store)
    super.init()
  }

  var storeOfTape: AnyStore? { store }

  override func begin(with model: UnsafeRawPointer, version: UInt64) {
    guard let store, sink.begin(self, of: store, at: version) else { return cancel() }
    parts = store.storage.undo.parts.map { $0.track() }
    for part in parts { part.begin(model) }
    rest = hollowed(model)
  }

  override func keep(_ commit: CommitInProgress, _ kept: inout KeptCommit) {
    if commit.isPresentModel || commit.isLastModel { return }
    let new = hollowed(commit.model)
    let changes = parts.isEmpty ? [] : parts.map { $0.takeChange(commit.model) }
    let isOwn = skips
    skips = false
    let change = ModelChange(old: rest!, new: new, parts, changes)
    rest = new
    if isOwn {
      sink.noteRestoration(index, to: commit.version)
      return kept.release(change)
    }
    let action = commit.action.assumingMemoryBound(to: Action?.self).pointee
    sink.keep(
      TapedCommit(
        index: index, version: commit.version, dispatchID: commit.dispatchID, action: action,
        change: change), &kept)
  }

  override func storeGoes(_ commit: CommitInProgress) { sink.storeGoes(self) }

  private func hollowed(_ model: UnsafeRawPointer) -> Model {
    var copy = model.assumingMemoryBound(to: Model.self).pointee
    if parts.isEmpty { return copy }
    withUnsafeMutablePointer(to: &copy) { copy in for part in parts { part.empty(copy) } }
    return copy
  }

  /// Ends reading; called outside of the store's lock.
  func endTape() {
    end(in: store?.storage)
    guard let storage = store?.storage else { return }
    storage.withLock { _ in for part in parts { part.end(storage.model) } }
  }

  func restoringEntry(
    of actionType: any ActionType.Type,
    _ changes: @escaping @Sendable (AnyStoreModel) -> Bool
  ) -> StoreEntry? {
    guard let store else { return nil }
    return RestoringEntry(store, of: actionType, at: index) { model in
      let isChanged = changes(AnyStoreModel(address: model))
      self.skips = isChanged
      return isChanged
    }
  }
}

/// A model in its store's exclusive section.
struct AnyStoreModel {
  let address: UnsafeMutableRawPointer
}

/// The part of one store in a history or a log.
protocol StoreTape: ObserverRecord {
  /// The place among the tapes of the sink.
  var index: Int { get }
  /// The address of the store, also while it goes.
  var storeAddress: ObjectIdentifier { get }
  /// The store, while it exists.
  var storeOfTape: AnyStore? { get }

  /// Ends reading.
  func endTape()

  /// Makes the entry for a dispatch that sets the store's model; nil if the store is gone.
  ///
  /// - Parameter changes: Undoes or repeats changes of the model, in the store's exclusive section; returns false if
  ///   there are none.
  func restoringEntry(
    of actionType: any ActionType.Type,
    _ changes: @escaping @Sendable (AnyStoreModel) -> Bool
  ) -> StoreEntry?
}

/// Keeps the commits of several stores.
protocol TapeSink: AnyObject, Sendable {
  /// Notes the version that a store begins with, in the store's exclusive section.
  ///
  /// Returns false if another tape reads the store already; this one then keeps nothing.
  func begin(_ tape: any StoreTape, of store: AnyStore, at version: UInt64) -> Bool

  /// Keeps a commit, in its store's exclusive section.
  ///
  /// - Parameter kept: Takes what is to be released outside of the section.
  func keep(_ commit: TapedCommit, _ kept: inout KeptCommit)

  /// Notes the version of a commit of its own, which it does not keep.
  func noteRestoration(_ index: Int, to version: UInt64)

  /// Notes that a store is gone.
  func storeGoes(_ tape: any StoreTape)
}

extension TapeSink {
  func begin(_ tape: any StoreTape, of store: AnyStore, at version: UInt64) -> Bool { true }
  func noteRestoration(_ index: Int, to version: UInt64) {}
  func storeGoes(_ tape: any StoreTape) {}
}

/// A commit, as a tape has read it.
struct TapedCommit: Sendable {
  /// The tape.
  let index: Int
  let version: UInt64
  let dispatchID: DispatchID?
  let action: (any ActionType)?
  let change: StoreChange
}

/// The change that one commit, or several, made in a store's model.
class StoreChange: @unchecked Sendable {  // because it is constant
  /// Whether the former state is known.
  var canBeUndone: Bool { fatalError("StoreChange is abstract.") }

  /// Makes the model what it was before, in the store's exclusive section.
  func undo(in model: AnyStoreModel) { fatalError("StoreChange is abstract.") }

  /// Makes the model what it was afterwards, in the store's exclusive section.
  func redo(in model: AnyStoreModel) { fatalError("StoreChange is abstract.") }

  /// Returns this change and a later one of the same store as one.
  func merged(with later: StoreChange) -> StoreChange { fatalError("StoreChange is abstract.") }

  /// The models before and after, without the parts.
  var rests: (old: Any, new: Any) { fatalError("StoreChange is abstract.") }

  /// The changes of the parts that have changed.
  var partChanges: [PartChange] { fatalError("StoreChange is abstract.") }
}

/// The change that one commit, or several, made in a model of a type.
final class ModelChange<Model: Sendable>: StoreChange, @unchecked Sendable {
  // because its superclass says so
  private let old: Model
  private let new: Model
  private let parts: [PartTracker]
  private let changes: [PartChange?]

  init(old: Model, new: Model, _ parts: [PartTracker], _ changes: [PartChange?]) {
    (self.old, self.new, self.parts, self.changes) = (old, new, parts, changes)
  }

  override var canBeUndone: Bool { changes.allSatisfy { $0?.canBeUndone != false } }

  override func undo(in model: AnyStoreModel) {
    for change in changes.reversed() { change?.undo(in: model.address) }
    set(old, in: model)
  }

  override func redo(in model: AnyStoreModel) {
    for change in changes { change?.redo(in: model.address) }
    set(new, in: model)
  }

  /// Sets the model but for its parts.
  private func set(_ rest: Model, in model: AnyStoreModel) {
    var rest = rest
    withUnsafeMutablePointer(to: &rest) { rest in
      for part in parts { part.swapParts(rest, model.address) }
    }
    swap(&rest, &model.address.assumingMemoryBound(to: Model.self).pointee)
  }

  override func merged(with later: StoreChange) -> StoreChange {
    let later = later as! ModelChange
    let changes = zip(self.changes, later.changes).map { first, second -> PartChange? in
      guard let first, let second else { return first ?? second }
      return first.merged(with: second)
    }
    return ModelChange(old: old, new: later.new, parts, changes)
  }

  override var rests: (old: Any, new: Any) { (old, new) }

  override var partChanges: [PartChange] { changes.compactMap(\.self) }
}

/// A store of any types that a tape can read: any `Store`.
protocol TapedStore: StoreType {
  func tape(to sink: any TapeSink, index: Int) -> any StoreTape
  var dispatcherOfTape: Dispatcher? { get }
}

extension Store: TapedStore {
  func tape(to sink: any TapeSink, index: Int) -> any StoreTape {
    let tape = ModelTape(of: self, to: sink, index: index)
    add(tape, initial: false)
    return tape
  }

  var dispatcherOfTape: Dispatcher? { dispatcher }
}
