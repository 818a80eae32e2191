// SPDX-License-Identifier: Apache-2.0

/// The wakeups that framers asked for, at most one for each. A task that fires late, after its wakeup was replaced, finds
/// another number.
struct FramerAlarms {
  private var tasks: [ObjectIdentifier: (number: Int, task: Task<Void, Never>)] = [:]
  private var lastNumber = 0

  /// Replaces the wakeup of a framer by the task that the closure makes for a new number.
  mutating func set(_ framer: ObjectIdentifier, _ task: (_ number: Int) -> Task<Void, Never>) {
    cancel(framer)
    lastNumber += 1
    tasks[framer] = (lastNumber, task(lastNumber))
  }

  mutating func cancel(_ framer: ObjectIdentifier) { tasks.removeValue(forKey: framer)?.task.cancel() }

  /// Removes the wakeup of a framer, and returns whether it has this number.
  mutating func removeWakeup(of framer: ObjectIdentifier, number: Int) -> Bool {
    guard tasks[framer]?.number == number else { return false }
    tasks[framer] = nil
    return true
  }

  mutating func cancelAll() {
    for (_, task) in tasks.values { task.cancel() }
    tasks = [:]
  }
}
