// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// An error whose description is one line, which `localizedDescription` returns too.
package protocol OneLineError: LocalizedError, CustomStringConvertible {}

extension OneLineError {
  /// The same text as `description`.
  public var errorDescription: String? { description }
}
