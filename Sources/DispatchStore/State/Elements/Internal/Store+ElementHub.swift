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

extension Store {
  @usableFromInline
  typealias MakeHub<Elements: KeyedCollection & Sendable> =
    (ElementTable<Model, Action, Elements>, _ isInTurn: Bool) -> ElementHub
  where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable

  /// Adds an observer of one element, and delivers the current element first if `initial` is true.
  ///
  /// - Parameter makeHub: Makes the hub for a table, if the collection has none yet.
  @usableFromInline
  func observe<Elements: KeyedCollection & Sendable>(
    _ path: any KeyPath<Model, Elements> & Sendable, _ key: Elements.ElementKey, initial: Bool,
    _ observer: TypedElementObserver<Elements.ElementValue>, _ makeHub: MakeHub<Elements>
  ) -> ObserverToken
  where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
    let (hub, table) = add(observer, path, key, initial: initial, makeHub)
    return ObserverToken { [weak storage] in
      observer.cancel()
      storage?.afterSection { $0.remove(observer, for: key, from: table, of: hub) }
    }
  }

  /// Adds an observer of one element that only the store retains.
  ///
  /// - Returns: A closure that ends the observation.
  func subscribe<Elements: KeyedCollection & Sendable>(
    _ observer: TypedElementObserver<Elements.ElementValue>,
    _ path: any KeyPath<Model, Elements> & Sendable, _ key: Elements.ElementKey, initial: Bool,
    _ makeHub: MakeHub<Elements>
  ) -> () -> Void
  where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
    let (hub, table) = add(observer, path, key, initial: initial, makeHub)
    return { [weak storage, weak observer, weak hub, weak table] in
      guard let storage, let observer, let hub, let table else { return }
      observer.cancel()
      storage.afterSection { $0.remove(observer, for: key, from: table, of: hub) }
    }
  }

  private func add<Elements: KeyedCollection & Sendable>(
    _ observer: TypedElementObserver<Elements.ElementValue>,
    _ path: any KeyPath<Model, Elements> & Sendable, _ key: Elements.ElementKey, initial: Bool,
    _ makeHub: MakeHub<Elements>
  ) -> (hub: ElementHub, table: ElementTable<Model, Action, Elements>)
  where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
    let thread = ThreadState.current
    ExclusiveSection.check(storage, "observed", on: thread)
    yieldPoint(.observe, on: thread, identifier)
    storage.lockToRead(on: thread)
    let (hub, table, isNew) = hub(for: path, isInTurn: observer.isInTurn, makeHub)
    observer.last = table.part.read(of: storage.model) { $0.pointee.value(forKey: key) }
    table.add(observer, for: key)
    var kept = KeptCommit()
    let isDue = initial && observer.keep(presentElement(for: observer), of: nil, &kept)
    let turn = storage.unlockObserving(on: thread) { notifications, place in
      if isNew { notifications.add(hub, from: 0) }
      guard initial, observer.isInTurn else { return .none }
      return notifications.enqueue(
        KeptChange(version: storage.version), only: observer, place: place)
    }
    if isDue { observer.scheduleCall() }
    storage.carryOut(turn, on: thread)
    return (hub, table)
  }

  private func presentElement<Value: Sendable>(
    for observer: TypedElementObserver<Value>
  ) -> KeptElementChange {
    TypedElementChange<Value, Action>(
      ElementChange(
        old: nil, new: observer.last, version: storage.version, action: nil, dispatchID: nil))
  }

  private func hub<Elements: KeyedCollection & Sendable>(
    for path: any KeyPath<Model, Elements> & Sendable, isInTurn: Bool,
    _ makeHub: MakeHub<Elements>
  ) -> (hub: ElementHub, table: ElementTable<Model, Action, Elements>, isNew: Bool)
  where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
    let hubs = storage.attachment(orAdd: ElementHubs())
    let key = ElementHubs.Key(path: path, isInTurn: isInTurn)
    if let hub = hubs.hubs[key] {
      let table = unsafeDowncast(hub.table, to: ElementTable<Model, Action, Elements>.self)
      return (hub, table, false)
    }
    let table = ElementTable<Model, Action, Elements>(ModelPart(path), of: storage.model)
    let hub = makeHub(table, isInTurn)
    hubs.hubs[key] = hub
    return (hub, table, true)
  }
}

extension ModelStorage {
  /// Calls a closure now or, if the thread is in an exclusive section, once it has left that section.
  func afterSection(_ body: @escaping (ModelStorage) -> Void) {
    let thread = ThreadState.current
    if thread.exclusive == nil { return body(self) }
    thread.atSectionEnd { body(self) }
  }

  /// Begins an exclusive section in which an observer is removed.
  ///
  /// Has no yield point, because the compiler decides when a token is released.
  func lockToRelease(on thread: ThreadState) {
    lock.lock()
    thread.exclusive = self
  }

  /// Removes an observer of an element, and its hub if that has no other observer.
  fileprivate func remove<Elements: KeyedCollection & Sendable>(
    _ observer: TypedElementObserver<Elements.ElementValue>, for key: Elements.ElementKey,
    from table: ElementTable<Model, Action, Elements>, of hub: ElementHub
  )
  where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
    let thread = ThreadState.current
    lockToRelease(on: thread)
    table.remove(observer, for: key)
    if table.observers.isEmpty {
      attachment(ElementHubs.self)?._withUnsafeGuaranteedRef { $0.remove(hub) }
      table.end(model)
      withObserversLocked { $0.remove(hub) }
    }
    unlockUnchanged(on: thread)
  }
}
