import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

@Suite("Random mixes", .serialized, .timeLimit(.minutes(20)))
struct MixTests {
  /// Runs rounds until `DISPATCHSTORE_STRESS_SECONDS` have passed; without it, a fixed number.
  @Test func endWholeWithCancellationChainingAndNesting() async {
    let environment = ProcessInfo.processInfo.environment
    let seconds = environment["DISPATCHSTORE_STRESS_SECONDS"].flatMap(Double.init)
    let first = environment["DISPATCHSTORE_STRESS_SEED"].flatMap(UInt64.init) ?? 1
    let start = ContinuousClock.now
    var round: UInt64 = 0
    let rounds = Load.isSanitized ? 4 : 12
    while seconds.map({ ContinuousClock.now - start < .seconds($0) }) ?? (round < rounds) {
      await MixRound(seed: first + round).run()
      round += 1
    }
  }
}

/// One dispatcher, used from several threads in ways that a seed decides.
final class MixRound: Sendable {
  let seed: UInt64
  private let dispatcher: Dispatcher
  private let ends = Recorder<Int>()
  private let issued = Recorder<DispatchHandle>()
  private let threads = 4
  private let dispatches = 60

  init(seed: UInt64) {
    self.seed = seed
    var random = SeededGenerator(seed: seed)
    let width = Int.random(in: 1...4, using: &random)
    dispatcher = Dispatcher(name: "mix \(seed)", queue: .wide(width))
    dispatcher.onWarning { _ in }
    for index in 0..<5 {
      let waits = (0..<index).filter { _ in Bool.random(using: &random) }.map { "\($0)" }
      dispatcher.addStage(
        "\(index)", waitFor: WaitFor(waits, runsRegardless: Bool.random(using: &random)))
    }
    if Bool.random(using: &random) {
      dispatcher.register(
        middleware: RecordingMiddleware(will: { _, action, _ in
          "\(action)" == "vetoed" ? .veto(reason: "mix") : .pass
        }))
    }
  }

  func run() async {
    await withTaskCancellationHandler {
      await onOwnThreads(threads) { thread in
        var random = SeededGenerator(seed: self.seed &* 1_000 &+ UInt64(thread))
        for index in 0..<self.dispatches {
          self.dispatch(thread * self.dispatches + index, &random)
        }
      }
      let all = await ends.first(threads * dispatches)
      for handle in issued.all { _ = await handle.result }
      #expect(all.count == threads * dispatches, "seed \(seed)")
      #expect(Set(all).count == all.count, "a completion ran twice with seed \(seed)")
      #expect(ends.count == all.count, "a completion ran twice with seed \(seed)")
    } onCancel: {
      FileHandle.standardError.write(Data("The mix of seed \(seed) did not end.\n".utf8))
    }
  }

  private func dispatch(_ index: Int, _ random: inout SeededGenerator) {
    let mode = mode(&random)
    var options = DispatchOptions()
    if Bool.random(using: &random) { options = .continuingOnFailure }
    let known = issued.all
    // A caller that blocks waits for two dispatches at most, so that it makes progress.
    if Int.random(in: 0..<4, using: &random) == 0 {
      let handles = (0..<2).compactMap { _ in known.randomElement(using: &random) }
      options = [options, .after(handles)]
    }
    let ends = ends
    let handle: DispatchHandle
    if Int.random(in: 0..<5, using: &random) == 0 {
      let scripts = (0..<Int.random(in: 0...4, using: &random)).map { _ in script(&random) }
      handle = dispatcher.dispatch(actions: scripts, mode: mode, options: options) {
        ends.record(index)
      }
    } else {
      let chained = (script(&random), self.mode(&random), Bool.random(using: &random))
      let target = Bool.random(using: &random) ? nil : "\(Int.random(in: 0..<5, using: &random))"
      handle = dispatcher.dispatch(
        storeIdentifier: target, action: script(&random), mode: mode, options: options
      ) { [dispatcher] in
        guard chained.2 else { return ends.record(index) }
        dispatcher.dispatch(action: chained.0, mode: chained.1) { ends.record(index) }
      }
    }
    issued.record(handle)
    if Int.random(in: 0..<6, using: &random) == 0 { known.randomElement(using: &random)?.cancel() }
    if Int.random(in: 0..<12, using: &random) == 0 { handle.cancel() }
  }

  private func mode(_ random: inout SeededGenerator) -> Dispatcher.Mode {
    switch Int.random(in: 0..<6, using: &random) {
    case 0: .async
    case 1: .sync
    case 2: .serial
    case 3: .mainThread
    default: .serial(lane: Int.random(in: 0..<3, using: &random))
    }
  }

  private func script(_ random: inout SeededGenerator) -> Script {
    let dispatcher = dispatcher
    let inner = mode(&random)
    switch Int.random(in: 0..<9, using: &random) {
    case 0:
      return .adds("vetoed")
    case 1:
      return .runs { _ in throw StageFright() }
    case 2:
      return .controls { operation, _ in
        DispatchQueue.global().async {
          operation.updateModel { $0.append("called back") }
          operation.finish()
        }
      }
    case 3:
      return .controls { _, _ in }
    case 4:
      return .suspends { store in
        await Task.yield()
        try Task.checkCancellation()
        store.updateModel { $0.append("suspended") }
      }
    case 5:
      return .runs { store in
        dispatcher.dispatch(
          storeIdentifier: store.identifier, action: Script.adds("nested"), mode: inner)
      }
    case 6:
      // The wait is refused where it could not end.
      return .suspends { store in
        _ = await dispatcher.dispatch(
          storeIdentifier: store.identifier, action: Script.adds("awaited"), mode: inner
        ).result
      }
    case 7:
      return .answers { action, store in
        let dependency = BlockOperation {}
        let operation = Script.Operation(action: action, store: store) { _, _ in }
        operation.addDependency(dependency)
        DispatchQueue.global().async { dependency.start() }
        return operation
      }
    default:
      return .adds("plain")
    }
  }
}
