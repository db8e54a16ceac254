import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("Diagnosis: rings", .timeLimit(.minutes(10)))
struct DiagnosisRingTests {
  let world = DiagnosisWorld()
  var dispatcher: Dispatcher { world.dispatcher }

  /// A block that awaits a task, which awaits a dispatch of the block's own lane.
  private func closeRingThroughTask(
    _ mode: Dispatcher.Mode
  ) async -> (DispatchHandle, DispatchHandle) {
    let (dispatcher, inner) = (dispatcher, Recorder<DispatchHandle>())
    dispatcher.addStage("inner")
    let outer = dispatcher.dispatch(
      storeIdentifier: "stage",
      action: Script.suspends { _ in
        await Task {
          let handle = dispatcher.dispatch(
            storeIdentifier: "inner", action: Script.adds("x"), mode: mode)
          inner.record(handle)
          _ = await handle.ended()
        }.value
      }, mode: mode)
    return (outer, await inner.first(1)[0])
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func throughAnUnstructuredTaskIsProbable(mode: Dispatcher.Mode) async {
    let (outer, inner) = await closeRingThroughTask(mode)
    #expect(dispatcher.diagnosis().cycles.isEmpty, "It may be a matter of milliseconds.")
    world.clock.advance(by: .seconds(12))
    let diagnosis = dispatcher.diagnosis()
    #expect(diagnosis.cycles.count == 1)
    let cycle = diagnosis.cycles[0]
    #expect(cycle.isProbable && cycle.edges.count == 2 && Set(cycle.edges.map(\.from)) == [1, 2])
    #expect(diagnosis.kinds(from: outer, to: inner) == [.mayWait])
    #expect(diagnosis.kinds(from: inner, to: outer) == [.lane])
    let states = diagnosis.states(of: outer)
    #expect(states.contains("runs store \"stage\" since 12 s (an async block)"), "\(states)")
    #expect(states.contains("may wait for 2 ("))
    #expect(diagnosis.description.contains("A probable cycle: 1 may wait for 2, 2 is queued in"))
    inner.cancel()
    await world.end(outer, inner)
  }

  /// The first that the lane holds back is awaited by some task, which the block may have made known otherwise.
  @Test func throughWhatOthersDispatchIsProbableWhereThatIsAwaited() async {
    let held = await world.hold(.serial)
    let (queued, behind) = (world.add(.serial), world.add(.serial))
    world.clock.advance(by: .seconds(2))
    #expect(dispatcher.diagnosis().cycles.isEmpty, "Nothing waits for it.")
    let waits = Task.immediate { _ = await queued.ended() }
    let diagnosis = dispatcher.diagnosis()
    #expect(diagnosis.kinds(from: held, to: queued) == [.mayWait])
    #expect(diagnosis.kinds(from: held, to: behind).isEmpty)
    #expect(diagnosis.cycles.count == 1 && diagnosis.cycles[0].isProbable)
    await world.end(held, behind)
    await waits.value
  }

  @Test func ofTwoBlocksWithSemaphoresIsProbable() async {
    let (dispatcher, inner) = (dispatcher, Recorder<DispatchHandle>())
    let ready = [Latch(), Latch()]
    let outer = (0...1).map { index in
      dispatcher.dispatch(
        storeIdentifier: "stage",
        action: Script.runs { _ in
          ready[index].open()
          ready[1 - index].wait()
          // Signalled by the completion of a dispatch in the lane of the other block.
          let signal = Latch()
          inner.record(
            dispatcher.dispatch(
              storeIdentifier: "stage", action: Script.adds("x"), mode: .serial(lane: 1 - index)
            ) { signal.open() })
          signal.wait()
        }, mode: .serial(lane: index))
    }
    let waiting = await inner.first(2)
    world.clock.advance(by: .seconds(2))
    let diagnosis = dispatcher.diagnosis()
    #expect(diagnosis.cycles.count == 1)
    #expect(diagnosis.cycles.first?.isProbable == true)
    #expect(diagnosis.cycles.first?.edges.count == 4)
    for handle in waiting { handle.cancel() }
    await world.end(outer[0], outer[1], waiting[0], waiting[1])
  }

  /// Through a unit that is handed on, and a lane: the library does not look for such rings.
  @Test func throughALimitAndALaneIsCertain() async {
    let limit = DispatchLimit(1, overflow: .wait, name: "one")
    let dispatcher = dispatcher
    dispatcher.addStage("outer")
    let held = await world.hold(.async, .limited(by: limit))
    let queued = Task.immediate {
      await dispatcher.send(
        Script.adds("x"), to: "stage", mode: .serial, options: .limited(by: limit)
      ).isSuccess
    }
    let outer = dispatcher.dispatch(
      storeIdentifier: "outer",
      action: Script.suspends { _ in
        _ = await dispatcher.send(
          Script.adds("y"), to: "stage", mode: .async, options: .limited(by: limit))
      }, mode: .serial)
    // Not `waiting`: the search for rings that follows it would find the unit handed on, and refuse the wait.
    while dispatcher.controlTables.waits.withLock({ $0.count }) < 2 { await Task.yield() }
    world.free.open()
    let diagnosis = await world.diagnosis { !$0.cycles.isEmpty }
    let cycle = diagnosis.cycles[0]
    #expect(!cycle.isProbable)
    #expect(cycle.edges.map(\.kind).sorted { "\($0)" < "\($1)" } == [.awaits, .holdsBack, .lane])
    #expect(diagnosis.description.contains("; a cycle."))
    queued.cancel()
    #expect(await !queued.value)
    await world.end(held, outer)
  }

  @Test func isDrawnInMermaidAndGraphviz() async throws {
    let lane = "a\"b\\<c>\n[d]|#"
    let (outer, inner) = await closeRingThroughTask(.serial(lane: lane))
    world.clock.advance(by: .seconds(2))
    let diagnosis = dispatcher.diagnosis()
    let mermaid = diagnosis.mermaid.split(separator: "\n").map(String.init)
    #expect(mermaid.first == "flowchart TD")
    let nodes = mermaid.filter { $0.hasPrefix("  d1[\"") || $0.hasPrefix("  d2[\"") }
    let arrows = mermaid.filter { $0.contains("-->|\"") || $0.contains("-.->|\"") }
    #expect(nodes.count == 2 && nodes.allSatisfy { $0.hasSuffix("\"]") })
    #expect(arrows.count == 2)
    // But for what delimits them, labels have no quotes and no markup.
    for line in nodes + arrows {
      #expect(line.count { $0 == "\"" } == 2, "\(line)")
      #expect(!line.contains("<c>") && !line.contains("[d]"), "\(line)")
    }
    #expect(nodes[0].contains("a#34;b#92;#60;c#62;#92;n#91;d#93;#124;#35;"))
    #expect(mermaid.contains("  class d1,d2 cycle"))
    #expect(mermaid.contains("  linkStyle 0,1 stroke:#c00"))
    inner.cancel()
    await world.end(outer, inner)
  }
}

@Suite("Rings among edges")
struct WaitCycleTests {
  private func rings(_ count: Int, _ edges: [(Int, Int)]) -> [[Int]] {
    WaitCycles(nodeCount: count, edges: edges.map { (from: $0.0, to: $0.1) }).rings
      .map { ring in ring.map { edges[$0].0 } }
  }

  @Test func areFoundOncePerSetOfNodes() {
    #expect(rings(3, [(0, 1), (1, 2)]) == [])
    #expect(rings(1, [(0, 0)]) == [[0]])
    #expect(rings(3, [(0, 1), (1, 2), (2, 0)]) == [[0, 1, 2]])
    // The shorter one of two through the same node.
    #expect(rings(4, [(0, 1), (1, 2), (2, 3), (3, 0), (1, 0)]) == [[0, 1]])
    #expect(rings(5, [(1, 2), (2, 1), (3, 4), (4, 3), (0, 1), (2, 3)]) == [[1, 2], [3, 4]])
  }

  @Test func areFoundInAnyGraph() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<500 {
      let count = Int.random(in: 1...7, using: &generator)
      let edges = (0..<Int.random(in: 0...10, using: &generator)).map { _ in
        (Int.random(in: 0..<count, using: &generator), Int.random(in: 0..<count, using: &generator))
      }
      // Whether a node reaches another, by one edge or more.
      var reaches = (0..<count).map { from in
        (0..<count).map { to in edges.contains { $0 == (from, to) } }
      }
      for middle in 0..<count {
        for from in 0..<count where reaches[from][middle] {
          for to in 0..<count where reaches[middle][to] { reaches[from][to] = true }
        }
      }
      let found = WaitCycles(nodeCount: count, edges: edges.map { (from: $0.0, to: $0.1) }).rings
      let onRings = (0..<count).filter { reaches[$0][$0] }
      let sets = Set(
        onRings.map { node in onRings.filter { reaches[node][$0] && reaches[$0][node] } })
      #expect(found.count == sets.count, "\(edges)")
      for ring in found {
        for (edge, next) in zip(ring, ring.dropFirst() + ring.prefix(1)) {
          #expect(edges[edge].1 == edges[next].0)
        }
      }
    }
  }

  @Test func ofALongChainAreFoundWithoutRecursion() {
    let count = 200_000
    let edges = (0..<count).map { ($0, ($0 + 1) % count) }
    #expect(rings(count, edges).map(\.count) == [count])
  }
}
