/// The models of several stores, to be read at one instant.
struct StoreTuple<each Model: Sendable>: @unchecked Sendable {
  // because the models are read under the stores' locks
  private let storages: [StoreStorage]
  private let models: (repeat UnsafeMutablePointer<each Model>)
  /// Each store once, in the global order in which several stores are locked.
  let lockOrder: [StoreStorage]

  init<each Action: ActionType>(_ stores: repeat Store<each Model, each Action>) {
    var storages: [StoreStorage] = []
    repeat storages.append((each stores).storage)
    self.storages = storages
    models = (repeat (each stores).storage.model)
    var byAddress: [ObjectIdentifier: StoreStorage] = [:]
    for storage in storages { byAddress[ObjectIdentifier(storage)] = storage }
    lockOrder = byAddress.values.sorted { $0.lockRank < $1.lockRank }
  }

  /// Reads the models one after the other until none has changed meanwhile; after some attempts, under all locks.
  ///
  /// So no lock is held while waiting for another, which a long reduction may hold.
  ///
  /// - Parameter dispatchesUnderWay: Called between the reads of models and versions, or under the locks. So a
  ///   dispatch that has committed by then is in one of the models, or causes another attempt.
  func snapshot(
    attempts: Int = 3, _ dispatchesUnderWay: () -> [DispatchID]?
  ) -> StoreSnapshot<repeat each Model> {
    let thread = ThreadState.current
    for storage in storages {
      ExclusiveSection.check(storage, "read", on: thread)
      storage.noteRead(on: thread)
    }
    for _ in 0..<attempts {
      if let snapshot = readInTurn(on: thread, dispatchesUnderWay) { return snapshot }
    }
    yieldPoint(.read, on: thread)
    for storage in lockOrder { storage.lock.lock() }
    defer { for storage in lockOrder.reversed() { storage.lock.unlock() } }
    let versions = storages.map(\.version)
    return StoreSnapshot(
      repeat Self.copy(each models), versions: versions, dispatchesUnderWay())
  }

  /// Reads the models one after the other; returns nil if one has changed meanwhile.
  private func readInTurn(
    on thread: ThreadState, _ dispatchesUnderWay: () -> [DispatchID]?
  ) -> StoreSnapshot<repeat each Model>? {
    var versions: [UInt64] = []
    func read<Value>(_ model: UnsafeMutablePointer<Value>) -> Value {
      let storage = storages[versions.count]
      yieldPoint(.read, on: thread, storage.identifier)
      return storage.withLock { _ in
        versions.append(storage.version)
        return model.pointee
      }
    }
    let copies: (repeat each Model) = (repeat read(each models))
    let underWay = dispatchesUnderWay()
    yieldPoint(.read, on: thread)
    let areCurrent = zip(storages, versions).allSatisfy { storage, version in
      storage.withLock { _ in storage.version } == version
    }
    return areCurrent ? StoreSnapshot(repeat each copies, versions: versions, underWay) : nil
  }

  // The compiler takes no `pointee` of a pack.
  private static func copy<Value>(_ model: UnsafeMutablePointer<Value>) -> Value { model.pointee }
}
