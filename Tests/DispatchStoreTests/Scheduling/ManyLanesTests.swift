import DispatchStore
import Foundation
import Testing

@Suite("Many lanes", .serialized, .timeLimit(.minutes(10)))
struct ManyLanesTests {
  /// A lane's key that counts when its last copy is released.
  struct Name: Hashable, Sendable {
    let index: Int
    let mortal: Mortal

    static func == (lhs: Name, rhs: Name) -> Bool { lhs.index == rhs.index }
    func hash(into hasher: inout Hasher) { hasher.combine(index) }
  }

  private static func makeDispatcher(width: Int) -> Dispatcher {
    let dispatcher = Dispatcher(queue: .wide(width))
    dispatcher.register(store: .counter("counter"))
    return dispatcher
  }

  @Test func usedOnceEachLeaveNoNameBehind() async {
    let total = Load.count(20_000, long: 1_000_000)
    let (dispatcher, names) = (Self.makeDispatcher(width: 2), EventCount(of: total))
    let ends = EventCount(of: total)
    for index in 0..<total {
      let name = Name(index: index, mortal: Mortal(names))
      dispatcher.dispatch(action: CounterAction.add(1), mode: .serial(lane: name)) { ends.add() }
    }
    await ends.full()
    await names.full()
  }

  /// In a new process, so that nothing else takes memory.
  @Test func usedOnceEachLeaveNoMemoryBehind() async {
    await #expect(processExitsWith: .success) {
      alarm(240)
      let dispatcher = Self.makeDispatcher(width: 2)
      await Self.use(dispatcher, lanes: 0..<2_000)
      let before = Self.residentPages
      await Self.use(dispatcher, lanes: 2_000..<Load.count(22_000, long: 1_000_000))
      let grown = Self.residentPages - before
      // 8 MiB: of 20,000 lanes, no more than 420 bytes each could have been left.
      #expect(grown < 2_048, "\(grown) pages")
    }
  }

  private static var residentPages: Int {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    return text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
  }

  /// Uses each lane once, a few hundred at a time.
  private static func use(_ dispatcher: Dispatcher, lanes: Range<Int>) async {
    for start in stride(from: lanes.lowerBound, to: lanes.upperBound, by: 500) {
      let batch = start..<min(start + 500, lanes.upperBound)
      let ends = EventCount(of: batch.count)
      for lane in batch {
        dispatcher.dispatch(action: CounterAction.add(1), mode: .serial(lane: lane)) { ends.add() }
      }
      await ends.full()
    }
  }

  @Test func mayAllBeHeldAtOnceWithoutThreads() async {
    let total = Load.count(10_000)
    let (dispatcher, held) = (Dispatcher(queue: .wide(2)), EventCount(of: total))
    dispatcher.addStage()
    let (released, log, ends) = (Latch(), Recorder<Int>(), EventCount(of: 2 * total))
    for lane in 0..<total {
      let holds = Script.suspends { _ in
        held.add()
        await released.opened()
        log.record(lane)
      }
      let next = Script.runs { _ in log.record(total + lane) }
      for script in [holds, next] {
        dispatcher.dispatch(action: script, mode: .serial(lane: lane)) { ends.add() }
      }
    }
    await held.full()
    #expect(log.count == 0)
    released.open()
    await ends.full()
    var places = [Int](repeating: 0, count: 2 * total)
    for (place, index) in log.all.enumerated() { places[index] = place }
    #expect((0..<total).allSatisfy { places[$0] < places[total + $0] })
  }

  @Test func busyAtOnceAllRunInTheirOwnOrder() async {
    let (lanes, actions) = (Load.count(10_000), Load.count(2, long: 20))
    let (dispatcher, progress) = (Dispatcher(queue: .wide(2)), Progress(lanes, of: actions))
    dispatcher.addStage()
    let ends = EventCount(of: lanes * actions)
    for index in 0..<actions {
      for lane in 0..<lanes {
        let script = Script.runs { _ in progress.advance(lane, to: index + 1) }
        dispatcher.dispatch(action: script, mode: .serial(lane: lane)) { ends.add() }
      }
    }
    await ends.full()
    #expect(progress.isInOrder)
  }

  /// In a queue of one thread: with several, the system may pause one in the middle of a lane.
  @Test func busyAtOnceNoneIsMoreThanABatchAheadOfOneThatHasWorkLeft() async {
    let (lanes, actions) = (Load.count(10, long: 100), 2_500)
    let (dispatcher, progress) = (Dispatcher(queue: .wide(1)), Progress(lanes, of: actions))
    dispatcher.addStage()
    let ends = EventCount(of: lanes * actions)
    dispatcher.queue.isSuspended = true
    for lane in 0..<lanes {
      for index in 0..<actions {
        let script = Script.runs { _ in progress.advance(lane, to: index + 1) }
        dispatcher.dispatch(action: script, mode: .serial(lane: lane)) { ends.add() }
      }
    }
    dispatcher.queue.isSuspended = false
    await ends.full()
    #expect(progress.isInOrder)
    #expect(progress.largestLead <= FairnessTests.bound)
  }
}

/// How many actions each lane has run, and the largest lead over a lane that had work left.
private final class Progress: @unchecked Sendable {  // because `lock` guards what changes
  private let lock = NSLock()
  private let actions: Int
  private var done: [Int]
  private var inOrder = true
  private var lead = 0

  init(_ lanes: Int, of actions: Int) {
    self.actions = actions
    done = Array(repeating: 0, count: lanes)
  }

  var isInOrder: Bool { lock.withLock { inOrder } }
  var largestLead: Int { lock.withLock { lead } }

  func advance(_ lane: Int, to count: Int) {
    lock.withLock {
      inOrder = inOrder && done[lane] == count - 1
      done[lane] = count
      guard count.isMultiple(of: 64) else { return }
      lead = max(lead, count - (done.min() ?? 0))
    }
  }
}
