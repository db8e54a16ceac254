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

extension StoreStorage {
  @usableFromInline
  typealias MakeHub<Model: Sendable, Elements: KeyedCollection & Sendable> =
    (ElementTable<Model, Elements>, _ isInTurn: Bool) -> ElementHub
  where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable

  /// Adds a follower of one element.
  ///
  /// - Parameter makeHub: Makes the hub for a table, if the collection has none yet.
  @usableFromInline
  final func add<Model: Sendable, Elements: KeyedCollection & Sendable>(
    _ follower: Follower, _ state: ElementState<Elements.ElementValue>,
    _ path: any KeyPath<Model, Elements> & Sendable, _ key: Elements.ElementKey,
    _ makeHub: MakeHub<Model, Elements>
  )
  where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
    let thread = ThreadState.current
    ExclusiveSection.check(self, "observed", on: thread)
    yieldPoint(.observe, on: thread, identifier)
    lockToRead(on: thread)
    let (hub, table, isNew) = hub(for: path, isInTurn: follower.isInTurn, makeHub)
    let present = table.part.read(of: modelAddress) { $0.pointee.value(forKey: key) }
    state.begin(present)
    follower.hubState = state
    // Weakly, because the hub and its table keep the follower.
    follower.detach = { [weak hub, weak table] storage, follower in
      if let hub, let table { storage.remove(follower, for: key, from: table, of: hub) }
    }
    table.add(follower, for: key)
    var kept = KeptCommit()
    if follower.hasInitial { keep(present, for: follower, &kept) }
    let turn = unlockObserving(on: thread) { notifications, place in
      if isNew { notifications.add(hub, from: 0) }
      guard follower.hasInitial, follower.isInTurn else { return .none }
      let change = KeptChange(version: version)
      return notifications.enqueue(
        Delivery(change: change, only: follower, owner: nil), place: place)
    }
    carryOut(turn, kept, on: thread)
  }

  private final func keep<Value: Sendable>(
    _ present: Value?, for follower: Follower, _ kept: inout KeptCommit
  ) {
    let commit = CommitInProgress(
      model: modelAddress, action: modelAddress, version: version, owner: nil,
      isPresentModel: true)
    _ = follower.put(
      follower.note(commit, ReplacedValue<Value?>(old: nil, by: present)), of: commit, &kept)
  }

  private final func hub<Model: Sendable, Elements: KeyedCollection & Sendable>(
    for path: any KeyPath<Model, Elements> & Sendable, isInTurn: Bool,
    _ makeHub: MakeHub<Model, Elements>
  ) -> (hub: ElementHub, table: ElementTable<Model, Elements>, isNew: Bool)
  where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
    let hubs = attachment(orAdd: ElementHubs())
    let key = ElementHubs.Key(path: path, isInTurn: isInTurn)
    if let hub = hubs.hubs[key] {
      let table = unsafeDowncast(hub.table, to: ElementTable<Model, Elements>.self)
      return (hub, table, false)
    }
    let table = ElementTable<Model, Elements>(ModelPart(path), of: modelAddress)
    let hub = makeHub(table, isInTurn)
    hubs.hubs[key] = hub
    return (hub, table, true)
  }

  /// Removes a follower of an element, and its hub if that has no other follower.
  fileprivate final func remove<Model: Sendable, Elements: KeyedCollection & Sendable>(
    _ follower: Follower, for key: Elements.ElementKey,
    from table: ElementTable<Model, Elements>, of hub: ElementHub
  )
  where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
    let thread = ThreadState.current
    lockToRelease(on: thread)
    table.remove(follower, for: key)
    if table.observers.isEmpty {
      attachment(ElementHubs.self)?._withUnsafeGuaranteedRef { $0.remove(hub) }
      table.end()
      withObserversLocked { $0.remove(hub) }
    }
    unlockUnchanged(on: thread)
  }
}
