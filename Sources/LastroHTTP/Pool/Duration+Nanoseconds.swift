// SPDX-License-Identifier: Apache-2.0

extension Duration {
  /// In 64 bits: some 292 years at most, and never less than none.
  var wholeNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, isOver) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, isTooMuch) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
    return isOver || isTooMuch ? .max : max(0, sum)
  }
}
