// SPDX-License-Identifier: Apache-2.0

/// The version of this package, as `User-Agent` has it and `lastro --version` prints it.
package enum PackageVersion {
  package static let text = "0.1.0"
}
