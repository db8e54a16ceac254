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

  /// The stores that are read.
  private struct Tapes {
    var all: [Int: any StoreTape] = [:]
    /// The indices of stores; that of a store that is gone may be another one's.
    var indices: [ObjectIdentifier: Int] = [:]
    private var last = 0
    /// The number of tapes at which those of stores that are gone are removed.
    private var limit = 64

    /// Returns an index for a store that has none, with the indices of stores that are gone.
    mutating func reserve(_ store: AnyStore) -> (index: Int, gone: [Int])? {
      let key = ObjectIdentifier(store)
      if let index = indices[key] {
        // Without a tape, another thread makes it.
        guard let tape = all[index], tape.storeOfTape !== store else { return nil }
      }
      last += 1
      indices[key] = last
      return (last, removeGone())
    }

    private mutating func removeGone() -> [Int] {
      if all.count < limit { return [] }
      let gone = all.filter { $0.value.storeOfTape == nil }.map(\.key)
      for index in gone { all[index] = nil }
      indices = indices.filter { all[$0.value] != nil || $0.value == last }
      limit = max(64, 2 * all.count)
      return gone
    }

    func tape(of store: AnyStore) -> (any StoreTape)? {
      guard let tape = indices[ObjectIdentifier(store)].flatMap({ all[$0] }) else { return nil }
      return tape.storeOfTape === store ? tape : nil
    }
  }

  init(_ state: RecorderState) { self.state = Locked(state) }

  var presentHome: Home? { home.withLock(\.self) }

  var dispatcher: Dispatcher? { presentHome?.dispatcher.dispatcher }

  /// The stores that are read, in the order in which they came.
  var presentTapes: [any StoreTape] {
    tapes.withLock { $0.all.sorted { $0.key < $1.key }.map(\.value) }
  }

  /// Ends reading; called when the recorder is released, so that the tapes do not keep this object alive.
  func endTapes() {
    let ended = tapes.withLock { tapes in
      defer { tapes = Tapes() }
      return tapes.all
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
    guard let (index, gone) = tapes.withLock({ $0.reserve(store) }),
      let taped = store as? any TapedStore
    else { return }
    state.withLock { $0.addStore(store.identifier, at: index, removing: gone) }
    let tape = taped.tape(to: self, index: index)
    tapes.withLock { $0.all[index] = tape }
  }

  func begin(_ index: Int, at version: UInt64) {
    state.withLock { $0.beginStore(index, at: version) }
  }

  func keep(_ commit: TapedCommit, _ kept: inout KeptCommit) {
    guard let alone = state.withLock({ $0.keep(commit) }) else { return }
    var work = RecorderState.UnderWay()
    work.add(alone)
    let now = dispatcher?.clock.nanoseconds ?? 0
    if let released = state.withLock({ $0.add(nil, work, at: now, size: 500) }) {
      kept.release(released)
    }
  }
}
