// SPDX-License-Identifier: Apache-2.0

/// The version of this package, which `User-Agent` contains and `lastro --version` prints.
package enum PackageVersion {
  package static let text = "0.1.0"
}
