// SPDX-License-Identifier: Apache-2.0

/// The handle that callback forms return: cancels the task behind them.
final class TaskCancelable: Cancelable {
  private let task: Task<Void, Never>

  init(_ task: Task<Void, Never>) { self.task = task }

  var isCancelled: Bool { task.isCancelled }

  func cancel() { task.cancel() }
}
