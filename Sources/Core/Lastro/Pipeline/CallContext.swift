// SPDX-License-Identifier: Apache-2.0

/// The identity of a call, for the maker of its base request, which runs again for every attempt.
package enum CallContext {
  /// The identifier of the call while its base request is made, the same for all attempts. `nil` at any other time.
  @TaskLocal package static var callID: UInt64?
}
