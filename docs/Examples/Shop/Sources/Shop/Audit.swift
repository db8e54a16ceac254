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
          "order" BIGINT, number BIGINT, state TEXT, amount BIGINT, PRIMARY KEY ("order", number))
        """)
      for (id, old, order) in changes.elements(\.all) ?? [] {
        guard let order else { continue }
        let known = old?.states.count ?? 0
        for (event, state) in order.states.enumerated().dropFirst(known) {
          try transaction.execute(
            "INSERT INTO audit VALUES ($1, $2, $3, $4)", id, event + 1, state.rawValue, order.amount)
        }
      }
    }
  }
}
