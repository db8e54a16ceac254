/// The hubs of a store.
private final class ElementHubs: StoreAttachment, @unchecked Sendable {
  // because the store's lock guards them
  var hubs: [Key: ElementHub] = [:]

  struct Key: Hashable {
    let path: AnyKeyPath
    let isInTurn: Bool
  }

  func remove(_ hub: ElementHub) {
    if let index = hubs.firstIndex(where: { $0.value === hub }) { hubs.remove(at: index) }
  }
}

extension ElementTable {
  @usableFromInline typealias MakeHub = (ElementTable, _ isInTurn: Bool) -> ElementHub

  /// Adds a follower of one element to a store.
  ///
  /// - Parameter makeHub: Makes the hub for a table, if the collection has none yet.
  @usableFromInline
  static func add(
    _ follower: Follower, _ state: ElementState<Value>,
    _ path: any KeyPath<Model, Elements> & Sendable, _ key: Key, to storage: StoreStorage,
    _ makeHub: MakeHub
  ) {
    let thread = ThreadState.current
    ExclusiveSection.check(storage, "observed", on: thread)
    yieldPoint(.observe, on: thread, storage.identifier)
    storage.lockToRead(on: thread)
    let (hub, table, isNew) = hub(for: path, isInTurn: follower.isInTurn, in: storage, makeHub)
    let present = table.part.read(of: storage.modelAddress) { $0.pointee.value(forKey: key) }
    state.begin(present)
    follower.hubState = state
    // Weakly, because the hub and its table keep the follower.
    follower.detach = { [weak hub, weak table] storage, follower in
      if let hub { table?.remove(follower, for: key, of: hub, in: storage) }
    }
    table.add(follower, for: key)
    var kept = KeptCommit()
    if follower.hasInitial { keepPresent(present, of: storage, for: follower, &kept) }
    let turn = storage.unlockObserving(on: thread) { notifications, place in
      if isNew { notifications.add(hub, from: 0) }
      guard follower.hasInitial, follower.isInTurn else { return .none }
      let change = KeptChange(version: storage.version)
      return notifications.enqueue(
        Delivery(change: change, only: follower, owner: nil), place: place)
    }
    storage.carryOut(turn, kept, on: thread)
  }

  private static func keepPresent(
    _ present: Value?, of storage: StoreStorage, for follower: Follower, _ kept: inout KeptCommit
  ) {
    let commit = CommitInProgress(
      model: storage.modelAddress, action: storage.modelAddress, version: storage.version,
      owner: nil, isPresentModel: true)
    _ = follower.put(
      follower.note(commit, ReplacedValue<Value?>(old: nil, by: present)), of: commit, &kept)
  }

  private static func hub(
    for path: any KeyPath<Model, Elements> & Sendable, isInTurn: Bool, in storage: StoreStorage,
    _ makeHub: MakeHub
  ) -> (hub: ElementHub, table: ElementTable, isNew: Bool) {
    let hubs = storage.attachment(orAdd: ElementHubs())
    let key = ElementHubs.Key(path: path, isInTurn: isInTurn)
    if let hub = hubs.hubs[key] {
      return (hub, unsafeDowncast(hub.table, to: ElementTable.self), false)
    }
    let table = ElementTable(ModelPart(path), of: storage.modelAddress)
    let hub = makeHub(table, isInTurn)
    hubs.hubs[key] = hub
    return (hub, table, true)
  }

  /// Removes a follower of an element, and the hub if that has no other follower.
  private func remove(
    _ follower: Follower, for key: Key, of hub: ElementHub, in storage: StoreStorage
  ) {
    storage.inSection {
      remove(follower, for: key)
      guard observers.isEmpty else { return }
      storage.attachment(ElementHubs.self)?._withUnsafeGuaranteedRef { $0.remove(hub) }
      reader.end()
      storage.withObserversLocked { $0.remove(hub) }
    }
  }
}
