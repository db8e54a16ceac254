import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

/// A dispatcher with a table, on a virtual clock.
struct DiagnosisWorld {
  let clock = VirtualClock()
  let dispatcher: Dispatcher
  /// What is held goes on once it opens.
  let free = Latch()

  init(width: Int = 4) {
    dispatcher = Dispatcher(name: "watched", queue: .wide(width), clock: clock)
    dispatcher.tracksInFlight = true
    dispatcher.addStage()
  }

  /// Dispatches an `async` block that goes on until the latch opens; returns once it runs.
  func hold(
    _ mode: Dispatcher.Mode, to store: String? = nil, _ options: DispatchOptions = DispatchOptions()
  ) async -> DispatchHandle {
    let (started, free) = (Latch(), free)
    let handle = dispatcher.dispatch(
      storeIdentifier: store ?? "stage",
      action: Script.holds(opening: started, until: free), mode: mode, options: options)
    await started.opened()
    return handle
  }

  func add(
    _ mode: Dispatcher.Mode, _ options: DispatchOptions = DispatchOptions(),
    then body: @escaping @Sendable () -> Void = {}
  ) -> DispatchHandle {
    dispatcher.dispatch(
      storeIdentifier: "stage", action: Script.adds("x"), mode: mode, options: options, then: body)
  }

  /// The first diagnosis of which a condition holds.
  ///
  /// For what code does inside the library after the last line of it that a test can observe.
  func diagnosis(when condition: (Diagnosis) -> Bool) async -> Diagnosis {
    while true {
      let diagnosis = dispatcher.diagnosis()
      if condition(diagnosis) { return diagnosis }
      await Task.yield()
    }
  }

  func end(_ handles: DispatchHandle...) async {
    free.open()
    for handle in handles { await handle.ended() }
    #expect(dispatcher.diagnosis().entries.isEmpty)
  }
}

extension Diagnosis {
  func entry(of handle: DispatchHandle) -> Entry? {
    entries.first { $0.id == handle.dispatchID }
  }

  /// The kinds of the edges between two dispatches.
  func kinds(from: DispatchHandle, to: DispatchHandle) -> [Edge.Kind] {
    guard let from = entry(of: from)?.number, let to = entry(of: to)?.number else { return [] }
    return edges.filter { $0.from == from && $0.to == to }.map(\.kind)
  }

  func states(of handle: DispatchHandle) -> String {
    entry(of: handle)?.states.joined(separator: "\n") ?? "in no entry"
  }
}
