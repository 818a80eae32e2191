// SPDX-License-Identifier: Apache-2.0

internal import LastroHTTP

/// The version of this package.
package enum LastroVersion {
  /// The semantic version.
  package static let current = PackageVersion.text
}
