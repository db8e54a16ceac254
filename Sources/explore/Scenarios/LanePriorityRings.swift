import DispatchStore
import DispatchStoreTesting
import Foundation

extension Scenario {
  /// Dispatches in lanes with priorities whose blocks wait for each other, some of which wait before they start.
  static let lanePriorityRings = Scenario(
    name: "lane-priority-rings",
    summary: "in lanes with priorities a wait that could not end is refused, and all else ends"
  ) { dispatcher, simulation in
    let modes: [Dispatcher.Mode] = [.serial, .serial(lane: "a"), .mainThread, .async]
    for mode in modes.dropLast() { dispatcher.usePriorities(in: mode) }
    dispatcher.makeJobs()
    let handles = Shared([Int: DispatchHandle]())
    func makeOptions(_ number: Int) -> DispatchOptions {
      let other = simulation.draw(below: 3 * number)
      let before = handles[other].map { DispatchOptions.after($0) } ?? []
      let priority = DispatchOptions.priority([.low, .normal, .high][simulation.draw(below: 3)])
      return [before, priority, simulation.draw(below: 4) == 0 ? .exclusive("key") : []]
    }
    func makeJob(_ number: Int) -> Job {
      let (how, other) = (simulation.draw(below: 5), simulation.draw(below: 10))
      let (mode, inner) = (modes[simulation.draw(below: 4)], makeOptions(number))
      switch how {
      case 0:
        return .suspends {
          await Task.yield()
          _ = await handles[other]?.result
        }
      case 1:
        return .suspends {
          _ = await dispatcher.dispatch(action: Job.runs {}, mode: mode, options: inner).result
        }
      case 2 where mode != .mainThread:
        return .suspends { await dispatcher.send(Job.runs {}, mode: mode, options: inner) }
      case 3:
        return .runs {
          guard let handle = handles[other] else { return }
          dispatcher.dispatch(action: Job.runs {}, mode: .sync, options: .after(handle))
        }
      default:
        return .suspends { await Task.yield() }
      }
    }
    for number in 1...9 {
      let (job, options) = (makeJob(number), makeOptions(number))
      let mode = modes[simulation.draw(below: 7) % 4]
      handles[number] = dispatcher.dispatch(action: job, mode: mode, options: options)
      if simulation.draw(below: 2) == 0 { await Task.yield() }
    }
    for (number, handle) in handles.now.sorted(by: { $0.key < $1.key }) {
      let result = await handle.result
      try check(result.isSuccess || result.isRefused, "\(number): \(result)")
    }
  }
}
