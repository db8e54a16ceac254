import DispatchStore

/// A model that is too large to be copied unnoticed.
struct Table: ModelType {
  var rows = [Int](repeating: 0, count: 100_000)

  /// Where the rows are; another place after a copy.
  var place: UInt { rows.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) } }
}

enum TableAction: ActionType, Equatable {
  case add(Int)
}

final class TableReducer: Reducer<Table, TableAction> {
  override func reduce(into model: inout Table, action: TableAction) {
    switch action {
    case .add(let amount): model.rows[0] += amount
    }
  }
}
