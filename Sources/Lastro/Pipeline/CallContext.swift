// SPDX-License-Identifier: Apache-2.0

/// What the maker of a base request may know of its call: it is asked anew for every attempt.
package enum CallContext {
  /// Names the call while its base request is made: the same for all its attempts. `nil` anywhere else.
  @TaskLocal package static var callID: UInt64?
}
