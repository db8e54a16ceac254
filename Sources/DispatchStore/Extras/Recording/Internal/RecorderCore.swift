/// The part of a recorder that its stores keep alive.
final class RecorderCore: TapeSink {
  let state: Locked<RecorderState>
  private let home = Locked<Home?>(nil)
  private let tapes = Locked(Tapes())

  /// The dispatcher, and the time at which the log begins: by its clock, and since 1970, in nanoseconds.
  struct Home {
    let dispatcher: DispatcherReference
    let name: String
    let start: Int64
    let unix: Int64
  }

  /// The tapes of the stores that are read.
  private struct Tapes {
    /// By the address of the store; that of a store that is gone may be another one's.
    private(set) var byStore: [ObjectIdentifier: any StoreTape] = [:]
    private var lastIndex = 0

    mutating func makeIndex() -> Int {
      lastIndex += 1
      return lastIndex
    }

    func tape(of store: AnyStore) -> (any StoreTape)? {
      guard let tape = byStore[ObjectIdentifier(store)] else { return nil }
      return tape.storeOfTape === store ? tape : nil
    }

    /// Adds the tape of a store; returns false if the store has one.
    mutating func insert(_ tape: any StoreTape, of store: AnyStore) -> Bool {
      if self.tape(of: store) != nil, !isPlanted(.readTwice) { return false }
      byStore[tape.storeAddress] = tape
      return true
    }

    /// Removes the tape of a store that goes.
    mutating func remove(_ tape: any StoreTape) {
      if byStore[tape.storeAddress] === tape { byStore[tape.storeAddress] = nil }
    }
  }

  init(_ state: RecorderState) { self.state = Locked(state) }

  var presentHome: Home? { home.withLock(\.self) }

  var dispatcher: Dispatcher? { presentHome?.dispatcher.dispatcher }

  /// The stores that are read, in the order in which they came.
  var presentTapes: [any StoreTape] {
    tapes.withLock { $0.byStore.values.sorted { $0.index < $1.index } }
  }

  /// Ends reading; called when the recorder is released, so that the tapes do not keep this object alive.
  func endTapes() {
    let ended = tapes.withLock { tapes in
      defer { tapes = Tapes() }
      return tapes.byStore
    }
    for tape in ended.values { tape.endTape() }
  }

  func tape(of store: AnyStore) -> (any StoreTape)? { tapes.withLock { $0.tape(of: store) } }

  /// Notes the dispatcher; returns whether this was its first dispatch.
  func begin(_ dispatcher: Dispatcher) -> Bool {
    if home.withLock({ $0 != nil }) { return false }
    // A reading of the clock is code of the program.
    let new = Home(
      dispatcher: DispatcherReference(dispatcher: dispatcher), name: dispatcher.name,
      start: dispatcher.clock.nanoseconds, unix: dispatcher.clock.unixNanoseconds)
    return home.withLock { home in
      if home != nil { return false }
      home = new
      return true
    }
  }

  /// Begins to read a store's commits, unless it is read.
  func read(_ store: AnyStore) {
    // The cast last: it takes longer than all else that a known store needs.
    if tapes.withLock({ $0.tape(of: store) != nil }) { return }
    guard let taped = store as? any TapedStore else { return }
    let tape = taped.tape(to: self, index: tapes.withLock { $0.makeIndex() })
    // Another thread has been faster.
    if tape.isCancelled { tape.endTape() }
  }

  func begin(_ tape: any StoreTape, of store: AnyStore, at version: UInt64) -> Bool {
    guard tapes.withLock({ $0.insert(tape, of: store) }) else { return false }
    let identifier = store.identifier
    state.withLock { $0.beginStore(tape.index, identifier, at: version) }
    return true
  }

  func noteRestoration(_ index: Int, to version: UInt64) {
    state.withLock { $0.noteRestoration(index, to: version) }
  }

  func storeGoes(_ tape: any StoreTape) {
    tapes.withLock { $0.remove(tape) }
    state.withLock { $0.endStore(tape.index) }
  }

  func keep(_ commit: TapedCommit, _ kept: inout KeptCommit) {
    let (alone, excess) = state.withLock { state in (state.keep(commit), state.takeExcess()) }
    if let excess { kept.release(excess) }
    guard let alone else { return }
    var work = RecorderState.UnderWay()
    work.add(alone)
    let now = dispatcher?.clock.nanoseconds ?? 0
    if let released = state.withLock({ $0.add(nil, work, at: now, size: 500) }) {
      kept.release(released)
    }
  }
}
