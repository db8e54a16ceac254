import DispatchStore
import DispatchStoreTesting
import Foundation

extension Scenario {
  /// Dispatches in lanes with priorities whose blocks wait for each other, some of which wait before they start.
  static let lanePriorityRings = Scenario(
    name: "lane-priority-rings",
    summary: "in lanes with priorities a wait that could not end is refused, and all else ends"
  ) { dispatcher in
    let simulation = dispatcher.simulation!
    let modes: [Dispatcher.Mode] = [.serial, .serial(lane: "a"), .mainThread, .async]
    for mode in modes.dropLast() { dispatcher.usePriorities(in: mode) }
    dispatcher.register(store: Store<Journal, Stop>(identifier: "stops", reducer: StopReducer()))
    let handles = Shared([Int: DispatchHandle]())
    func makeOptions(_ number: Int) -> DispatchOptions {
      let other = simulation.draw(below: 3 * number)
      let before = handles.now[other].map { DispatchOptions.after($0) } ?? []
      let priority = DispatchOptions.priority([.low, .normal, .high][simulation.draw(below: 3)])
      return [before, priority, simulation.draw(below: 4) == 0 ? .exclusive("key") : []]
    }
    func makeStop(_ number: Int) -> Stop {
      let (how, other) = (simulation.draw(below: 5), simulation.draw(below: 10))
      let (mode, inner) = (modes[simulation.draw(below: 4)], makeOptions(number))
      switch how {
      case 0:
        return .suspends {
          await Task.yield()
          _ = await handles.now[other]?.result
        }
      case 1:
        return .suspends {
          _ = await dispatcher.dispatch(action: Stop.runs {}, mode: mode, options: inner).result
        }
      case 2 where mode != .mainThread:
        return .suspends { await dispatcher.send(Stop.runs {}, mode: mode, options: inner) }
      case 3:
        return .runs {
          guard let handle = handles.now[other] else { return }
          dispatcher.dispatch(action: Stop.runs {}, mode: .sync, options: .after(handle))
        }
      default:
        return .suspends { await Task.yield() }
      }
    }
    for number in 1...9 {
      let (stop, options) = (makeStop(number), makeOptions(number))
      let mode = modes[simulation.draw(below: 7) % 4]
      let handle = dispatcher.dispatch(action: stop, mode: mode, options: options)
      handles.with { $0[number] = handle }
      if simulation.draw(below: 2) == 0 { await Task.yield() }
    }
    for (number, handle) in handles.now.sorted(by: { $0.key < $1.key }) {
      let result = await handle.result
      let isRefused = result.dispatchError?.code == .wouldDeadlock
      try check(result.isSuccess || isRefused, "\(number): \(result)")
    }
  }
}

/// An action that carries what its store is to do.
private enum Stop: ActionType {
  case runs(@Sendable () -> Void)
  case suspends(@Sendable () async -> Void)
}

private final class StopReducer: Reducer<Journal, Stop> {
  override func operation(
    for action: Stop, in store: Store<Journal, Stop>
  ) -> ActionOperation<Journal, Stop> {
    switch action {
    case .runs(let body):
      ActionOperation(action: action, store: store) { _, _ in body() }
    case .suspends(let body):
      ActionOperation(action: action, store: store) { _, _ async in await body() }
    }
  }
}
