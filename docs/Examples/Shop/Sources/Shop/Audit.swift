import DispatchStore
import DispatchStorePersistence
import ShopCore

extension Shop {
  /// Writes a row for each event of an order, in the transaction of its commit.
  func keepAudit(in persistence: Persistence) {
    persistence.project(orders) { changes, transaction in
      try transaction.execute(
        """
        CREATE TABLE IF NOT EXISTS audit (
          "order" INTEGER, number INTEGER, state TEXT, amount INTEGER, PRIMARY KEY ("order", number))
        """)
      for (id, old, order) in changes.elements(\.all) ?? [] {
        guard let order else { continue }
        let known = old?.states.count ?? 0
        for (event, state) in order.states.enumerated().dropFirst(known) {
          try transaction.execute(
            "INSERT INTO audit VALUES (?, ?, ?, ?)", id, event + 1, state.rawValue, order.amount)
        }
      }
    }
  }
}
