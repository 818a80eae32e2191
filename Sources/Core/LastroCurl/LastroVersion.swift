// SPDX-License-Identifier: Apache-2.0

internal import LastroHTTP

/// The version of this package.
public enum LastroVersion {
  /// The semantic version.
  public static let current = PackageVersion.text
}
