// SPDX-License-Identifier: Apache-2.0

/// The version of this package, as it is sent in `User-Agent`.
package enum PackageVersion {
  package static let text = "0.1.0"
}
