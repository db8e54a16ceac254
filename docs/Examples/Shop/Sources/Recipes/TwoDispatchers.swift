import DispatchStore
import DispatchStoreServer
import Foundation
import Logging
import ServiceLifecycle

struct Sold: ActionType { let item: String }

/// A dispatcher for work that must never slow down the first one.
func makeReports() -> Dispatcher {
  let queue = OperationQueue()
  queue.maxConcurrentOperationCount = 1
  queue.qualityOfService = .utility
  return Dispatcher(
    name: "reports", limits: DispatchLimits(perLane: 10_000, overflow: .dropOldest), queue: queue)
}

/// Hands each sale over once it has succeeded, and does not wait for the report.
func report(from shop: Dispatcher, to reports: Dispatcher) {
  shop.register(
    effect: Effect(Sold.self) { sold, _ in
      reports.dispatch(sold, mode: .serial, options: .detached)
    })
}

/// The shop is drained first, since what it does gives the reports more to do.
func services(_ shop: Dispatcher, _ reports: Dispatcher, logger: Logger) -> [any Service] {
  [DispatcherService(reports, logger: logger), DispatcherService(shop, logger: logger)]
}
