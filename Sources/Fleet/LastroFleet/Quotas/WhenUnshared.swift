// SPDX-License-Identifier: Apache-2.0

/// The part of a shared quota that an instance may use without the store.
public enum WhenUnshared: Sendable, Hashable {
  /// Each of a number of instances owns an equal fraction of the quota and uses it without asking. The instances lend
  /// each other what they do not need, through the store. Without the store, each has its fraction.
  ///
  /// Give the largest number of instances that run at the same time, 1 to 10,000: with more, the quota is exceeded.
  case fraction(of: Int)
  /// The whole quota is in the store, for any number of instances. An instance that has no share waits, also while the
  /// store is lost, for at most the pacer's `maximumWait`.
  case wait
}
