/// An action after which all stores of its dispatch have changed, or none.
///
///     struct Transfer: AtomicAction {
///       let amount: Int
///     }
///
/// A dispatch of any other action is atomic with `options: .atomic`, which says more about it.
public protocol AtomicAction: ActionType {}
