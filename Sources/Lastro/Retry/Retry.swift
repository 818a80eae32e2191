// SPDX-License-Identifier: Apache-2.0

/// Retrying operations of any kind: what to do after a failure, and what has happened so far.
public enum Retry {
  /// A number of retries; the first attempt is none.
  public typealias Retries = Int
  /// A delay in seconds.
  public typealias Delay = Double
}
