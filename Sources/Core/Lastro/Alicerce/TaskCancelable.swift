// SPDX-License-Identifier: Apache-2.0

/// The handle that callback forms return. It cancels their task.
final class TaskCancelable: Cancelable {
  private let task: Task<Void, Never>

  init(_ task: Task<Void, Never>) { self.task = task }

  var isCancelled: Bool { task.isCancelled }

  func cancel() { task.cancel() }
}
