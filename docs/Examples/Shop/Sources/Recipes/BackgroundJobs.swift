import DispatchStore
import DispatchStorePersistence

struct Invoices: ModelType, Codable {
  var unsent: Set<Int> = []
  var sent: Set<Int> = []
  var reminders = 0
}
struct Issue: CodableAction { let invoice: Int }
struct Sent: ActionType { let invoice: Int }
struct Remind: CodableAction {}

func startBilling(
  _ dispatcher: Dispatcher,
  mail: @escaping @Sendable (_ invoice: Int, _ key: String) async throws -> Void
) async throws -> HandlerStore<Invoices> {
  let invoices = try await dispatcher.register(
    store: Store(identifier: "invoices", model: Invoices()) {
      On(Issue.self) { invoices, issue in
        if !invoices.sent.contains(issue.invoice) { invoices.unsent.insert(issue.invoice) }
      }
      On(Sent.self) { invoices, sent in
        invoices.unsent.remove(sent.invoice)
        invoices.sent.insert(sent.invoice)
      }
      On(Remind.self) { invoices, _ in invoices.reminders += invoices.unsent.count }
    }, persisted: .model)
  // After each `Issue`: at most ten attempts, also in the next process.
  dispatcher.register(
    effect: DurableEffect("mail invoice", on: Issue.self) { [invoices] issue, context in
      if invoices.withModel({ $0.sent.contains(issue.invoice) }) { return nil }
      try await mail(issue.invoice, context.key)
      return Sent(invoice: issue.invoice)
    })
  // Once a day, and once at the start if the time came while no process ran.
  dispatcher.every(.seconds(86_400), name: "remind", perform: Remind())
  dispatcher.resumeWork()
  return invoices
}

/// At the start of the program.
func openBilling(_ path: String) async throws -> (Dispatcher, Persistence) {
  let persistence = try await Persistence(
    .sqlite(path: path), actions: ActionCoder(Issue.self, Remind.self))
  return (Dispatcher(name: "billing", persistence: persistence), persistence)
}

/// From anywhere: an invoice in a week, saved once this returns; throws if it is refused.
func issueLater(
  _ invoice: Int, by dispatcher: Dispatcher, savedIn persistence: Persistence
) async throws {
  let issue = dispatcher.dispatch(
    Issue(invoice: invoice),
    options: [.delayed(by: .seconds(7 * 86_400), name: "invoice \(invoice)"), .detached])
  // `flush()` does not tell that it was refused. One that only ends as cancelled, in a drain, is saved.
  if let refusal = issue.resultIfEnded?.dispatchError { throw refusal }
  try await persistence.flush()
}
