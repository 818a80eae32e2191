// SPDX-License-Identifier: Apache-2.0

package import Lastro
package import LastroWire

extension GeminiHeaderViolation {
  /// The stable code of the violation.
  package var code: FailureCode {
    switch kind {
    case .metaTooLong: .headTooLarge
    case .early: .connectionLost
    case .status, .separator, .meta, .lineEnd: .malformedResponse
    }
  }
}
